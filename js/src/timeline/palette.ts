/** The colours of the theme as a canvas takes them. A canvas knows no CSS variables: they are read from elements. */

import type { Tone } from "../tasks/statuses.ts";

const TONES: readonly Tone[] = ["grey", "blue", "amber", "green", "red", "purple"];
const GROUND = ["raised", "sunken", "text", "soft", "line", "focus"] as const;

export type Palette = Record<(typeof GROUND)[number], string> & {
  /** As text and as areas. */
  ink: Record<Tone, string>;
  area: Record<Tone, string>;
  font: string;
};

/** The names of the variables, as elements carry them. */
export const INKS: readonly string[] = [...GROUND, ...TONES, ...TONES.map((tone) => `${tone}-area`)];

/** @param probes - one element each of INKS, in that order, coloured with it */
export function readPalette(probes: Element): Palette {
  const found = [...probes.children].map((probe) => getComputedStyle(probe).color);
  const color = (name: string) => found[INKS.indexOf(name)] ?? "gray";
  const toned = (suffix: string) => Object.fromEntries(TONES.map((tone) => [tone, color(`${tone}${suffix}`)]));
  return {
    ...(Object.fromEntries(GROUND.map((name) => [name, color(name)])) as Record<(typeof GROUND)[number], string>),
    ink: toned("") as Record<Tone, string>,
    area: toned("-area") as Record<Tone, string>,
    font: getComputedStyle(probes).fontFamily,
  };
}
