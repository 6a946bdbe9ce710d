/** 中文. Every sentence that `say` is given has its line here; a test looks for those that are missing. */

export const CHINESE: Readonly<Record<string, string>> = {};
