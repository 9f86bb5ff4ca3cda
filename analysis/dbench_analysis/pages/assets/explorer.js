// Filters and sorts the table of a report of many runs (explorer.py).
(() => {
  const rows = [...document.querySelectorAll('.explore tbody tr')];
  const facts = rows.map(row => JSON.parse(row.dataset.facts));
  // Quotes only keep words together, so they are compared with texts that have none.
  const unquoted = text => String(text).replaceAll('"', '');
  const plain = text => unquoted(text).toLowerCase();
  const texts = rows.map(
    (row, i) => plain(`${row.textContent} ${Object.values(facts[i]).join(' ')}`));
  const box = document.querySelector('.explore input');
  const count = document.querySelector('.explore .count');
  const split = text => text.match(/(?:"[^"]*"?|[^\s"])+/g) ?? [];
  const parts = word => word.startsWith('"') ? []
    : unquoted(word).match(/^([^=<>!]+)(!=|>=|<=|=|>|<)(.*)$/) ?? [];
  const holds = (word, i) => {
    const [, field, sign, wanted] = parts(word), value = facts[i][field];
    const equal = one => typeof value === 'number' && one !== '' && value === +one ||
      plain(value) === one.toLowerCase();
    if (!sign) return texts[i].includes(plain(word));
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
    if (!sign) return `"${unquoted(word)}" is in no row`;
    const quoted = value => /\s/.test(value) ? `"${unquoted(value)}"` : value;
    return field in facts[0] ? `no run has ${word}; nearest is ${field}=${
      quoted(nearest(wanted, facts.map(f => String(f[field]))))}`
      : `there is no field ${field}: did you mean ${nearest(field, Object.keys(facts[0]))}?`;
  };
  box.oninput = () => {
    const words = split(box.value);
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
