// Filters and sorts the table of a report of many runs (explorer.py).
(() => {
  const rows = [...document.querySelectorAll('.explore tbody tr')];
  const body = document.querySelector('.explore tbody');
  const facts = rows.map(r => JSON.parse(r.dataset.facts));
  const texts = rows.map(
    (r, i) => `${r.textContent} ${Object.values(facts[i]).join(' ')}`.toLowerCase());
  const box = document.querySelector('.explore input');
  const count = document.querySelector('.explore .count');
  const test = (fact, shown, word) => {
    const m = word.match(/^([^=<>!]+)(!=|>=|<=|=|>|<)(.*)$/);
    if (!m) return shown.includes(word.toLowerCase());
    if (!(m[1] in fact)) return false;
    const value = fact[m[1]], wanted = m[3];
    const there = value !== null && value !== '' && wanted !== '';
    const numeric = there && typeof value === 'number' && !isNaN(value) && !isNaN(wanted);
    const a = numeric ? +value : String(value).toLowerCase();
    const b = numeric ? +wanted : wanted.toLowerCase();
    switch (m[2]) {
      case '=': return numeric ? a === b : b.split('|').includes(a);
      case '!=': return numeric ? a !== b : !b.split('|').includes(a);
      case '>': return numeric && a > b;
      case '<': return numeric && a < b;
      case '>=': return numeric && a >= b;
      default: return numeric && a <= b;
    }
  };
  // the edit distance of two words
  const apart = (a, b) => {
    let row = [...Array(b.length + 1).keys()];
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++) {
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] !== b[j - 1]));
      }
      row = next;
    }
    return row[b.length];
  };
  const nearest = (word, all) => all.reduce(
    (a, b) => apart(word, b.toLowerCase()) < apart(word, a.toLowerCase()) ? b : a);
  const wrong = words => {  // explains in words why a filter leaves no run
    for (const word of words) {
      const m = word.match(/^([^=<>!]+)(!=|>=|<=|=|>|<)(.*)$/);
      if (!m) {
        if (!texts.some((shown, i) => test(facts[i], shown, word))) return `"${word}" is in no row`;
      } else if (!(m[1] in facts[0])) {
        return `there is no field ${m[1]}: did you mean ${nearest(m[1], Object.keys(facts[0]))}?`;
      } else if (!texts.some((shown, i) => test(facts[i], shown, word))) {
        const there = [...new Set(facts.map(f => String(f[m[1]])))];
        return `no run has ${word}; nearest is ${m[1]}=${nearest(m[3], there)}`;
      }
    }
    return 'no run has all of this';
  };
  const filter = () => {
    const words = box.value.trim().split(/\s+/).filter(Boolean);
    let left = 0;
    rows.forEach((row, i) => {
      const keep = words.every(w => test(facts[i], texts[i], w));
      row.hidden = !keep;
      left += keep;
    });
    count.textContent = `${left} of ${rows.length} runs${left ? '' : ': ' + wrong(words)}`;
    count.classList.toggle('wrong', !left);
  };
  box.addEventListener('input', filter);
  const heads = document.querySelectorAll('.explore thead th');
  heads.forEach((head, column) => head.addEventListener('click', () => {
    const way = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
    const value = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
    heads.forEach(h => h.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', way > 0 ? 'ascending' : 'descending');
    const sorted = [...rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)], numeric = !isNaN(x) && !isNaN(y) && x !== '' && y !== '';
      if ((x === '') !== (y === '')) return x === '' ? 1 : -1;
      return way * (numeric ? x - y : x.localeCompare(y, undefined, {numeric: true}));
    });
    sorted.forEach(row => body.append(row));
  }));
  filter();
})();
