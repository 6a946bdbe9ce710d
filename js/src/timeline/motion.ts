/** Whether the reader asked for a page that moves less. */
export function isReducedMotion(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
