// The table and the curves of a report of many runs (explorer.py): filter, sort, hover.
(() => {
  const rows = [...document.querySelectorAll('.explore tbody tr')];
  const body = document.querySelector('.explore tbody');
  const facts = rows.map(r => JSON.parse(r.dataset.facts));
  const box = document.querySelector('.explore input');
  const count = document.querySelector('.explore .count'), tip = document.querySelector('.tip');
  const lines = i => document.querySelectorAll(`.curves [data-run="${i}"]`);
  const test = (fact, shown, word) => {
    const m = word.match(/^([^=<>!]+)(!=|>=|<=|=|>|<)(.*)$/);
    if (!m || !(m[1] in fact)) return shown.includes(word.toLowerCase());
    const value = fact[m[1]], wanted = m[3];
    const there = value !== null && value !== '' && wanted !== '';
    const numeric = there && !isNaN(value) && !isNaN(wanted);
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
  const filter = () => {
    const words = box.value.trim().split(/\s+/).filter(Boolean);
    let left = 0;
    rows.forEach((row, i) => {
      const shown = row.textContent.toLowerCase();
      const keep = words.every(w => test(facts[i], shown, w));
      row.hidden = !keep;
      left += keep;
      lines(i).forEach(l => l.classList.toggle('off', !keep));
    });
    count.textContent = `${left} of ${rows.length} runs`;
  };
  box.addEventListener('input', filter);
  const mark = i => {
    document.querySelectorAll('.curves path.c').forEach(l => {
      l.classList.toggle('on', +l.dataset.run === i);
      l.classList.toggle('dim', i >= 0 && +l.dataset.run !== i);
    });
    rows.forEach((row, j) => row.classList.toggle('on', i === j));
  };
  rows.forEach((row, i) => {
    row.addEventListener('mouseenter', () => mark(i));
    row.addEventListener('mouseleave', () => mark(-1));
  });
  document.querySelectorAll('.curves path.h').forEach(line => {
    const points = JSON.parse(line.dataset.points), i = +line.dataset.run;
    line.querySelector('title').remove();  // the tip says more
    line.addEventListener('mousemove', event => {
      const svg = line.ownerSVGElement, box = svg.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
      const near = points.reduce((a, b) => Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a);
      tip.textContent = `${line.dataset.name}\n${near[1]}`;
      tip.style.display = 'block';
      tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px';
      tip.style.top = event.clientY + 14 + 'px';
      mark(i);
    });
    line.addEventListener('mouseleave', () => { tip.style.display = 'none'; mark(-1); });
  });
  const heads = document.querySelectorAll('.explore th');
  heads.forEach((head, column) => head.addEventListener('click', () => {
    const way = head.dataset.way === '1' ? -1 : 1;
    const value = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
    heads.forEach(h => delete h.dataset.way);
    head.dataset.way = String(way);
    const sorted = [...rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)], numeric = !isNaN(x) && !isNaN(y) && x !== '' && y !== '';
      if ((x === '') !== (y === '')) return x === '' ? 1 : -1;
      return way * (numeric ? x - y : x.localeCompare(y, undefined, {numeric: true}));
    });
    sorted.forEach(row => body.append(row));
  }));
  filter();
})();
