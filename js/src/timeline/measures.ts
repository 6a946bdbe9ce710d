/** How large things are in the picture, in pixels. */

export const LANE_HEIGHT = 24;
export const AXIS_HEIGHT = 28;
export const BAR_HEIGHT = 18;
