/** The timeline's entry point. */

import { mounting } from "../view/mount.tsx";
import { TimelineSession } from "./session.ts";
import { Timeline } from "./Timeline.tsx";

export default {
  render: mounting({
    begin: (model, signal, repaint) => new TimelineSession(model, signal, repaint),
    View: Timeline,
  }),
};
