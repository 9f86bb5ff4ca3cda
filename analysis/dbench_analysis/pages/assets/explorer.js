// Filters and sorts the table of a report of many runs (explorer.py).
(() => {
  const rows = [...document.querySelectorAll('.explore tbody tr')];
  const facts = rows.map(row => JSON.parse(row.dataset.facts));
  const texts = rows.map(
    (row, i) => `${row.textContent} ${Object.values(facts[i]).join(' ')}`.toLowerCase());
  const box = document.querySelector('.explore input');
  const count = document.querySelector('.explore .count');
  const parts = word => word.match(/^([^=<>!]+)(!=|>=|<=|=|>|<)(.*)$/) ?? [];
  const holds = (word, i) => {
    const [, field, sign, wanted] = parts(word), value = facts[i][field];
    const equal = one => typeof value === 'number' && one !== '' && value === +one ||
      String(value).toLowerCase() === one.toLowerCase();
    if (!sign) return texts[i].includes(word.toLowerCase());
    if (!(field in facts[i])) return false;
    if (sign.match(/^!?=$/)) return wanted.split('|').some(equal) === (sign === '=');
    return typeof value === 'number' && wanted !== '' && {
      '<': value < wanted, '<=': value <= wanted, '>': value > wanted, '>=': value >= wanted}[sign];
  };
  const likeness = (a, b) => [...a.toLowerCase()].filter(letter => b.toLowerCase().includes(letter))
    .length - Math.abs(a.length - b.length);
  const nearest = (word, all) => all.reduce((a, b) => likeness(word, b) > likeness(word, a) ? b : a);
  const wrong = words => {  // explains why a filter leaves no run
    const word = words.find(one => !rows.some((_, i) => holds(one, i)));
    const [, field, sign, wanted] = parts(word ?? '');
    if (!word) return 'no run has all of this';
    if (!sign) return `"${word}" is in no row`;
    return field in facts[0]
      ? `no run has ${word}; nearest is ${field}=${nearest(wanted, facts.map(f => String(f[field])))}`
      : `there is no field ${field}: did you mean ${nearest(field, Object.keys(facts[0]))}?`;
  };
  box.oninput = () => {
    const words = box.value.trim().split(/\s+/).filter(Boolean);
    rows.forEach((row, i) => { row.hidden = !words.every(word => holds(word, i)); });
    const left = rows.filter(row => !row.hidden).length;
    count.textContent = `${left} of ${rows.length} runs${left ? '' : ': ' + wrong(words)}`;
    count.classList.toggle('wrong', !left);
  };
  box.oninput();
  const heads = document.querySelectorAll('.explore thead th');
  heads.forEach((head, column) => head.addEventListener('click', () => {
    const way = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
    const value = ({cells}) => cells[column].dataset.value ?? cells[column].textContent;
    heads.forEach(one => one.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', way > 0 ? 'ascending' : 'descending');
    [...rows].map(row => [value(row), row]).sort(([x], [y]) => (x === '') - (y === '') ||
      way * (x - y || x.localeCompare(y, undefined, {numeric: true})))
      .forEach(([, row]) => row.parentNode.append(row));
  }));
})();
