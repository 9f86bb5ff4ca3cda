// Draws the curves of a report (curves.py) with Plotly. Finds the row, the file and the spec of a run.
(async () => {
  const at = id => document.getElementById(id);
  const note = words => { at('note').textContent = words; };
  const unpacked = id => new Response(
    new Blob([Uint8Array.from(atob(at(id).textContent), c => c.charCodeAt(0))]).stream()
      .pipeThrough(new DecompressionStream('gzip'))).text();
  if (!window.DecompressionStream) {
    return note('This browser is too old for the curves (it has no DecompressionStream).');
  }
  const data = JSON.parse(await unpacked('curves-numbers'));
  const script = document.createElement('script');
  script.textContent = await unpacked('curves-library');
  document.head.append(script);
  script.remove();

  const plot = at('plot'), rows = [...document.querySelectorAll('.explore tbody tr')];
  const row = i => rows.find(r => +r.dataset.run === i);
  const facts = data.runs.map((_, i) => row(i) ? JSON.parse(row(i).dataset.facts) : {});
  const quantity = () => data.quantities.find(q => q.key === at('metric').value);
  const ids = ['metric', 'x', 'group', 'log', 'smooth', 'a', 'b'].filter(at);
  const key = `dbench ${document.title}`;
  let zoom = null;  // ranges of the axes that the reader chose

  const smoothed = (ys, weight) => {  // without the bias of the first value
    let sum = 0, mass = 0;
    return ys.map(y => {
      if (y === null) return null;
      [sum, mass] = [weight * sum + y, weight * mass + 1];
      return sum / mass;
    });
  };
  const curve = i => {
    const found = data.runs[i].y[quantity().key];
    if (!found) return null;
    const xs = data.runs[i].x[found[0]][at('x').value], ys = smoothed(found[1], +at('smooth').value);
    const use = ys.map((y, k) => y !== null && xs[k] !== null);
    return {x: xs.filter((_, k) => use[k]), y: ys.filter((_, k) => use[k])};
  };
  const value = ({x, y}, place) => {  // between two points, on the line through them
    const k = Math.max(1, x.findIndex(v => v >= place));
    return x.length < 2 || x[k] === x[k - 1] ? y[0]
      : y[k - 1] + (y[k] - y[k - 1]) * (place - x[k - 1]) / (x[k] - x[k - 1]);
  };
  const together = curves => {  // mean, least and largest value where all curves have one
    const from = Math.max(...curves.map(c => c.x[0]));
    const to = Math.min(...curves.map(c => c.x[c.x.length - 1]));
    const x = [...new Set(curves.flatMap(c => c.x))].sort((a, b) => a - b)
      .filter(v => v >= from && v <= to);
    const all = x.map(place => curves.map(c => value(c, place)));
    return {x, low: all.map(v => Math.min(...v)), high: all.map(v => Math.max(...v)),
            y: all.map(v => v.reduce((a, b) => a + b) / v.length)};
  };
  const colour = name => name === '#000000'
    ? getComputedStyle(document.body).color : name;  // black is invisible on a dark page
  const groups = () => {  // [name, colour, dash, runs] of each line
    const by = at('group') ? at('group').value : '';
    const kept = data.runs.map((_, i) => i).filter(i => !(row(i) && row(i).hidden) && curve(i) && curve(i).x.length);
    if (!by) {
      return kept.map(i => [data.runs[i].label, data.settings[data.runs[i].setting], [i]]);
    }
    const named = i => by === 'setting' ? data.settings[data.runs[i].setting].label : String(facts[i][by]);
    return [...new Set(kept.map(named))].map((name, n) => [
      by === 'setting' ? name : `${at('group').selectedOptions[0].textContent} ${name}`,
      by === 'setting' ? data.settings.find(s => s.label === name)
        : {colour: data.palette[n % data.palette.length], dash: 'solid'},
      kept.filter(i => named(i) === name)]);
  };
  const config = {  // Plotly drops all listeners if it changes
    responsive: true, displaylogo: false, toImageButtonOptions: {format: 'svg', filename: 'curves'},
    modeBarButtons: [['zoom2d', 'pan2d', 'zoomIn2d', 'zoomOut2d', 'resetScale2d', 'toImage']]};
  let drawn = [], drawings = 0;
  const known = {};  // a number for each line: Plotly keeps what the legend hides by it
  const uid = words => known[words] ??= `line${Object.keys(known).length}`;
  const draw = () => {
    const q = quantity(), style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue('--ink'), line = style.getPropertyValue('--line');
    drawn = groups().map(([name, look, runs]) => ({name, look, runs, ...together(runs.map(curve))}));
    const zero = drawn.filter(one => !one.y.some(y => y > 0)).map(one => one.name);
    const traces = drawn.flatMap(({name, look, runs, x, y, low, high}) => {
      const shape = {name, x, mode: x.length < 2 ? 'markers' : 'lines', legendgroup: name};
      const bare = {hoverinfo: 'skip', showlegend: false, meta: null, line: {width: 0}};
      const banded = runs.length > 1
        ? [{...shape, ...bare, y: high, uid: uid(`${name} high`)},
           {...shape, ...bare, y: low, uid: uid(`${name} low`), fill: 'tonexty', opacity: 1, fillcolor: `${look.colour}26`}] : [];
      return [...banded, {
        ...shape, y, uid: uid(name), meta: runs, line: {color: colour(look.colour), dash: look.dash, width: 1.8},
        marker: {color: colour(look.colour)}, showlegend: true,
        hovertemplate: `%{y${q.fraction ? ':.2%' : ':.4~g'}} at %{x:.5~g}<extra>%{fullData.name}` +
          `${runs.length > 1 ? ` (${runs.length} runs)` : ''}</extra>`}];
    });
    const axis = {gridcolor: line, linecolor: line, zeroline: false, automargin: true, uirevision: ++drawings};
    Plotly.react(plot, traces, {
      font: {color: ink, family: 'system-ui, sans-serif', size: 13},
      paper_bgcolor: 'transparent', plot_bgcolor: 'transparent', hovermode: 'closest',
      margin: {l: 60, r: 10, t: 34, b: 45}, modebar: {bgcolor: 'transparent', color: '#888'}, uirevision: 'kept',  // what the legend hides
      legend: {orientation: plot.clientWidth < 700 ? 'h' : 'v', y: plot.clientWidth < 700 ? -0.25 : 1},
      xaxis: {...axis, title: {text: data.x[at('x').value]}, ...(zoom && {range: zoom[0]})},
      yaxis: {...axis, title: {text: q.title}, type: at('log').checked ? 'log' : 'linear',
              tickformat: q.fraction ? '~%' : '~g', ...(zoom && {range: zoom[1]})},
    }, config);
    at('definition').textContent = `${q.title}: ${q.help}.`;
    at('metric').title = q.help;
    note([drawn.length ? '' : 'No run that the table shows has this curve.',
          at('log').checked && zero.length
            ? `Exact zeros have no place on a logarithmic axis: ${zero.join(', ')}.` : '',
         ].filter(Boolean).join(' '));
  };
  const keep = () => {
    const state = Object.fromEntries(ids.map(id => [id, id === 'log' ? at(id).checked : at(id).value]));
    try { sessionStorage.setItem(key, JSON.stringify({...state, zoom})); } catch { /* not here */ }
  };
  const compare = () => {
    const [a, b] = ['a', 'b'].map(id => at(id) ? at(id).value : ''), place = at('difference');
    if (!place) return;
    place.replaceChildren();
    if (a === '' || b === '') return;
    const apart = data.spec.filter(([, values]) => values[a] !== values[b]);
    if (!apart.length) { place.textContent = 'These specs differ in nothing but names.'; return; }
    const table = place.appendChild(document.createElement('table'));
    [['', data.runs[a].label, data.runs[b].label],
     ...apart.map(([pointer, values]) => [pointer, values[a], values[b]])].forEach((cells, n) => {
      const line = table.insertRow();
      cells.forEach((words, k) => {
        line.appendChild(document.createElement(n && k ? 'td' : 'th')).textContent = words;
      });
    });
  };
  const pick = i => {
    if (!at('a')) return;
    [at('a').value, at('b').value] = at('a').value === '' || at('b').value === ''
      ? (at('a').value === '' ? [i, ''] : [at('a').value, i]) : [at('b').value, i];
    compare();
    keep();
  };
  const mark = runs => {  // the curves and rows of these runs; none: all alike
    rows.forEach(r => r.classList.toggle('on', runs.includes(+r.dataset.run)));
    const lines = plot.data.map((t, n) => [t, n]).filter(([t]) => t.meta);
    Plotly.restyle(plot, {opacity: lines.map(
      ([t]) => !runs.length || t.meta.some(i => runs.includes(i)) ? 1 : 0.15)}, lines.map(([, n]) => n));
  };
  const save = (name, parts, type) => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob(parts, {type}));
    link.download = name;
    link.click();
  };
  const cell = words => /[",\n]/.test(words) ? `"${String(words).replaceAll('"', '""')}"` : words;

  try {
    const state = JSON.parse(sessionStorage.getItem(key)) ?? {};
    ids.filter(id => id in state).forEach(id => { at(id)[id === 'log' ? 'checked' : 'value'] = state[id]; });
    zoom = state.zoom ?? null;
    if (!('log' in state)) at('log').checked = quantity().log;
  } catch { at('log').checked = quantity().log; }
  draw();
  compare();
  at('metric').addEventListener('input', () => { at('log').checked = quantity().log; });
  ids.forEach(id => at(id).addEventListener('input', () => {
    if (['metric', 'x', 'log'].includes(id)) zoom = null;
    id === 'a' || id === 'b' ? compare() : draw();
    keep();
  }));
  plot.on('plotly_relayout', () => {
    const {xaxis, yaxis} = plot.layout;
    zoom = xaxis.autorange && yaxis.autorange ? null : [[...xaxis.range], [...yaxis.range]];
    keep();
  });
  plot.on('plotly_hover', event => mark(event.points[0].data.meta));
  plot.on('plotly_unhover', () => mark([]));
  plot.on('plotly_click', event => {
    const [i, ...more] = event.points[0].data.meta;
    if (!more.length) pick(String(i));
    if (row(i)) row(i).scrollIntoView({block: 'nearest'});
  });
  rows.forEach(r => {
    r.addEventListener('mouseenter', () => mark([+r.dataset.run]));
    r.addEventListener('mouseleave', () => mark([]));
    r.addEventListener('click', event => event.target.closest('a') || pick(r.dataset.run));
  });
  const box = document.querySelector('.explore input');
  if (box) box.addEventListener('input', draw);
  at('svg').addEventListener('click', () => Plotly.downloadImage(
    plot, {format: 'svg', filename: quantity().key, width: plot.clientWidth, height: plot.clientHeight}));
  at('csv').addEventListener('click', () => save(`${quantity().key}.csv`, [
    [['curve', 'runs', at('x').value, quantity().key, 'lowest', 'highest'],
     ...drawn.flatMap(one => one.x.map(
       (x, k) => [one.name, one.runs.length, x, one.y[k], one.low[k], one.high[k]]))]
      .map(cells => cells.map(cell).join(',')).join('\n') + '\n'], 'text/csv'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  plot.dataset.ready = 'yes';
})();
