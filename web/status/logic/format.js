// Numbers and times in the language of the interface.

/** In place of what is not known. */
export const UNKNOWN = "–";
const UNITS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];

export function createFormat(language) {
  const number = (options) => {
    const format = new Intl.NumberFormat(language, options);
    return (value) => (value === null ? UNKNOWN : format.format(value));
  };
  const inUnit = (unit, unitDisplay, maximumFractionDigits) => number({ style: "unit", unit, unitDisplay, maximumFractionDigits });
  const [whole, tenths, hundredths] = [0, 1, 2].map((maximumFractionDigits) => number({ maximumFractionDigits }));
  const [percent, tenthsOfPercent] = [0, 1].map((maximumFractionDigits) => number({ style: "percent", maximumFractionDigits }));
  const seconds = inUnit("second", "narrow", 1);
  const milliseconds = inUnit("millisecond", "narrow", 0);
  const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short", hourCycle: "h23" };
  const time = new Intl.DateTimeFormat(language, clock);
  const dateTime = new Intl.DateTimeFormat(language, { ...clock, year: "numeric", month: "short", day: "numeric" });
  const minute = new Intl.DateTimeFormat(language, { timeStyle: "short", hourCycle: "h23" });
  const relative = new Intl.RelativeTimeFormat(language, { style: "short", numeric: "always" });

  return {
    language,
    count: whole,
    rate: (value) => (value >= 10 ? whole : value >= 1 ? tenths : hundredths)(value),
    percent,
    /** A share of successes: rounded down, because 100 % means all. */
    successRate: (share) => tenthsOfPercent(Math.floor(share * 1000) / 1000),
    duration: (value) => (value === null || value >= 1 ? seconds(value) : milliseconds(value * 1000)),
    /** "2 min 5 sec": the two largest units. */
    length(seconds) {
      const whole = Math.max(0, Math.round(seconds));
      const first = UNITS.findIndex(([, size]) => whole >= size || size === 1);
      const counts = UNITS.slice(first, first + 2).map(([unit, size], index) => [unit, Math.floor((index ? whole % UNITS[first][1] : whole) / size)]);
      return counts.filter(([, count], index) => count || index === 0).map(([unit, count]) => inUnit(unit, "short", 0)(count)).join(" ");
    },
    /** The time of a Unix time, with its zone; the date too if it is another day's. */
    time: (at, now) => (now - at < 43_200 ? time : dateTime).format(new Date(at * 1000)),
    minute: (at) => minute.format(new Date(at * 1000)),
    iso: (at) => new Date(at * 1000).toISOString(),
    /** "3 min ago". */
    ago(seconds) {
      const past = Math.max(0, seconds);
      const [unit, size] = UNITS.find(([, length]) => past >= length) ?? UNITS.at(-1);
      return relative.format(-Math.floor(past / size), unit);
    },
  };
}
