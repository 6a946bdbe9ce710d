/** The panel's entry point. */

import { mounting } from "../view/mount.tsx";
import { Panel } from "./Panel.tsx";
import { PanelSession } from "./session.ts";

export default {
  render: mounting({
    begin: (model, signal, repaint) => new PanelSession(model, signal, repaint),
    View: Panel,
  }),
};
