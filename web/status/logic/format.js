// Numbers and times in the language of the interface.

const UNITS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];

export function createFormat(language) {
  const whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
  const tenths = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
  const hundredths = new Intl.NumberFormat(language, { maximumFractionDigits: 2 });
  const percent = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 0 });
  const tenthsOfPercent = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 });
  const seconds = new Intl.NumberFormat(language, { style: "unit", unit: "second", unitDisplay: "narrow", maximumFractionDigits: 1 });
  const milliseconds = new Intl.NumberFormat(language, { style: "unit", unit: "millisecond", unitDisplay: "narrow", maximumFractionDigits: 0 });
  const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short", hourCycle: "h23" };
  const time = new Intl.DateTimeFormat(language, clock);
  const dateTime = new Intl.DateTimeFormat(language, { ...clock, year: "numeric", month: "short", day: "numeric" });
  const minute = new Intl.DateTimeFormat(language, { timeStyle: "short", hourCycle: "h23" });
  const relative = new Intl.RelativeTimeFormat(language, { style: "short", numeric: "always" });

  return {
    count: (value) => whole.format(value),
    rate: (value) => (value >= 10 ? whole : value >= 1 ? tenths : hundredths).format(value),
    percent: (share) => percent.format(share),
    /** A share of successes: rounded down, because 100 % means all. */
    successRate: (share) => tenthsOfPercent.format(Math.floor(share * 1000) / 1000),
    duration: (value) => (value >= 1 ? seconds.format(value) : milliseconds.format(value * 1000)),
    /** "2 min 5 sec": the two largest units. */
    length(seconds) {
      const whole = Math.max(0, Math.round(seconds));
      const first = Math.max(0, UNITS.findIndex(([, size]) => whole >= size || size === 1));
      const count = (index) => Math.floor((index > first ? whole % UNITS[index - 1][1] : whole) / UNITS[index][1]);
      return [first, first + 1]
        .filter((index) => index < UNITS.length && (index === first || count(index)))
        .map((index) => new Intl.NumberFormat(language, { style: "unit", unit: UNITS[index][0], unitDisplay: "short" }).format(count(index)))
        .join(" ");
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
