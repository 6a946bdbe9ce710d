/** The entry point of a run's graph. */

import { mounting } from "../view/mount.tsx";
import { Pipeline } from "./Pipeline.tsx";
import { PipelineSession } from "./session.ts";

export default {
  render: mounting({
    begin: (model, signal, repaint) => new PipelineSession(model, signal, repaint),
    View: Pipeline,
  }),
};
