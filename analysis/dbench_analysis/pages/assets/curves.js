// Draws the curves that curves.py has computed, with Plotly, and links them with the table of runs.
(async () => {
  const at = id => document.getElementById(id), plot = at('plot'), form = at('choices');
  const unpacked = id => new Response(new Blob([Uint8Array.from(
    atob(at(id).textContent), letter => letter.charCodeAt(0))]).stream().pipeThrough(
    new DecompressionStream('gzip'))).text();
  const data = JSON.parse(await unpacked('curves-numbers')), script = document.createElement('script');
  script.textContent = await unpacked('curves-library');
  document.head.append(script);
  const rows = [...document.querySelectorAll('.explore tbody tr')], key = `dbench ${document.title}`;
  const row = i => rows.find(one => +one.dataset.run === i);
  const smoothed = (sum = 0, mass = 0) => y => {  // without the bias of the first value
    [sum, mass] = [form.smooth.value * sum + y, form.smooth.value * mass + 1];
    return sum / mass;
  };
  const draw = () => {
    const one = data.quantities[form.metric.value], picked = [form.a?.value, form.b?.value];
    const lines = data.lines[form.group.value].flatMap(line => line.runs.some(i => row(i)?.hidden)
      ? line.runs.filter(i => !row(i)?.hidden).map(i => data.lines[''][i]) : [line]);
    const traces = lines.flatMap(line => line.traces).filter(trace => trace.at[form.metric.value])
      .map(({at, ...trace}) => {
        const [x, y] = at[form.metric.value][form.x.value].map(k => data.arrays[k]);
        const on = trace.meta.some(i => picked.includes(String(i)));
        return {...trace, x, y: y.map(smoothed()), mode: x.length < 2 ? 'markers' : 'lines',
                line: {...trace.line, width: trace.line.width * (on ? 2 : 1)}};
      });
    Plotly.react(plot, traces, {...data.layout, template: one.template,
      xaxis: {...data.axis, title: {text: data.x[form.x.value]},
              uirevision: form.metric.value + form.x.value},
      yaxis: {...data.axis, ...one.axis, type: form.scale.value,
              uirevision: form.metric.value + form.x.value + form.scale.value}}, config);
    const zero = traces.filter(({y}) => !y.some(value => value > 0)).map(trace => trace.legendgroup);
    at('definition').textContent = one.help;
    at('note').textContent = !traces.length ? 'No run that the table shows has this curve.'
      : form.scale.value === 'log' && zero.length
        ? `Exact zeros have no place on a logarithmic axis: ${[...new Set(zero)].join(', ')}.` : '';
    rows.forEach(each => each.classList.toggle('on', picked.includes(each.dataset.run)));
    if (!form.a) return;
    const [a, b] = picked, apart = data.spec.filter(([, values]) => values[a] !== values[b]);
    at('difference').innerHTML = !a || !b ? '' : !apart.length
      ? 'These specs differ in nothing but names.' : `<table>${[['', data.names], ...apart].map(
        ([entry, of]) => `<tr><th>${entry}<td>${of[a]}<td>${of[b]}`).join('')}</table>`;
  };
  let store = {getItem: () => null, setItem: () => {}};
  try { store = sessionStorage; } catch { /* a page in a sandbox has none */ }
  const keep = () => store.setItem(key, JSON.stringify([
    [...form.elements].map(({name, value}) => [name, value]),
    Object.fromEntries(['xaxis', 'yaxis'].filter(axis => !plot.layout[axis].autorange)
      .map(axis => [`${axis}.range`, plot.layout[axis].range]))]));
  const change = () => { draw(); keep(); };
  const pick = i => {
    if (form.a) [form.a.value, form.b.value] = [form.b.value, i];
    change();
    row(i)?.scrollIntoView({block: 'nearest'});
  };
  const csv = () => {
    const values = plot.data.flatMap(({name, x, y}) => x.map(
      (place, k) => [`"${name.replaceAll('"', '""')}"`, place, y[k]]));
    Object.assign(document.createElement('a'), {
      download: `${form.metric.value}.csv`, href: URL.createObjectURL(new Blob(
        [[['curve', form.x.value, form.metric.value], ...values].join('\n') + '\n']))}).click();
  };
  const config = {...data.config, modeBarButtons: [[...data.config.modeBarButtons[0],
    {name: 'csv', title: 'Download the numbers as CSV', icon: Plotly.Icons.disk, click: csv}]]};
  const [choices, zoom] = JSON.parse(store.getItem(key)) ?? [[], {}];
  choices.forEach(([name, value]) => {  // those that this page has, too
    const options = form[name]?.options;
    if (!options || [...options].some(one => one.value === value && !one.disabled)) {
      Object.assign(form[name] ?? {}, {value});
    }
  });
  draw();
  await Plotly.relayout(plot, zoom);
  form.metric.oninput = () => { form.scale.value = data.quantities[form.metric.value].scale; };
  plot.parentNode.oninput = change;  // of the controls above and below the plot
  plot.on('plotly_relayout', keep);
  plot.on('plotly_click', ({points: [{data: {meta}}]}) => pick(meta[0]));
  rows.forEach(each => each.addEventListener(
    'click', event => event.target.closest('a') || pick(+each.dataset.run)));
  document.querySelector('.explore input')?.addEventListener('input', draw);
  plot.dataset.ready = 'yes';
})();
