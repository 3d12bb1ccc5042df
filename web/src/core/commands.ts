// Words of a command line.

/** As a POSIX shell reads it as one word. */
export const quoted = (text: string): string => (/^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);
