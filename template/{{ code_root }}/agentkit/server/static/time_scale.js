// Where the steps of a run lie on its bar. A run may pause for days between two questions: time in
// which nothing happened takes little room.

const SHORT = 2; // seconds of a pause that are drawn as they are

/** Return `place(step)`, in percent, and the longer pauses by the index of the step behind them. */
export function timeScale(steps) {
  const pauses = new Map();
  const cuts = []; // [moment from which on, seconds left out]
  let end = 0;
  steps.forEach((step, index) => {
    const idle = step.started - end;
    if (idle > SHORT) {
      cuts.push([step.started, idle - SHORT]);
      if (index > 0) pauses.set(index, idle);
    }
    end = Math.max(end, step.started + step.seconds);
  });
  const at = (time) => cuts.reduce((left, [from, cut]) => (time >= from ? left - cut : left), time);
  const total = at(end) || 1;
  const place = ({ started, seconds }) => ({
    from: Math.min(99, (100 * at(started)) / total),
    width: Math.max(1, (100 * (at(started + seconds) - at(started))) / total),
  });
  return { place, pauses };
}
