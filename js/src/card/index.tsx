/** The card's entry point. */

import { mounting } from "../view/mount.tsx";
import { Card } from "./Card.tsx";
import { CardSession } from "./session.ts";

export default {
  render: mounting({
    begin: (model, signal, repaint) => new CardSession(model, signal, repaint),
    View: Card,
  }),
};
