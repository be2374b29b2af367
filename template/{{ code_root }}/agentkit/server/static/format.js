// Numbers and times for people.

const COUNT = new Intl.NumberFormat();
const SHORT_TIME = { hour: "2-digit", minute: "2-digit" };
const SHORT_DATE = { day: "numeric", month: "short" };

/** Return an amount of USD; small ones keep two digits that count. */
export function money(usd) {
  if (usd === null) return "price unknown";
  if (usd === 0) return "$0";
  return usd < 0.01 ? `$${usd.toFixed(8).replace(/^(0\.0*\d\d).*/, "$1")}` : `$${usd.toFixed(2)}`;
}

/** Return tokens read and written. */
export function tokens(input, output) {
  return `${COUNT.format(input)} in, ${COUNT.format(output)} out`;
}

/** Return a duration given in seconds. */
export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** Return a moment: the time if it is today's, else the date. */
export function moment(text) {
  if (!text) return "";
  const time = new Date(text);
  const today = time.toDateString() === new Date().toDateString();
  return today ? time.toLocaleTimeString([], SHORT_TIME) : time.toLocaleDateString([], SHORT_DATE);
}

/** Return count and noun, with the plural's s. */
export function plural(count, noun) {
  return `${COUNT.format(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Return data as text; text as it is. */
export function asText(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
