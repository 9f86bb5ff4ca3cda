// What a reader does with the report of several runs, in a browser: the answers are left in #told.
(async () => {
  if (window.top !== window) return;  // the page in the frame of a phone's width
  const told = {faults: window.faults};
  try {
    await use(told);
  } catch (error) {
    told.faults.push(`${error.stack}`);
  }
  document.querySelector('#told').textContent = JSON.stringify(told);
})();

async function use(told) {
  const one = selector => document.querySelector(selector);
  const all = selector => [...document.querySelectorAll(selector)];
  const shown = () => all('.explore tbody tr').filter(row => !row.hidden);
  const filter = words => {
    one('.explore input').value = words;
    one('.explore input').dispatchEvent(new Event('input'));
    return [shown().length, one('.explore .count').textContent];
  };
  told.filters = Object.fromEntries(
    ['', 'D_ring', 'seed>1', 'replcias=8', 'seed=9', 'implementation=D_rong'].map(w => [w, filter(w)]));
  filter('');

  const head = all('.explore thead th').find(h => h.textContent === 'mean model accuracy');
  const button = head.querySelector('button');
  button.focus();
  told.focused = document.activeElement === button;
  told.sorted = [1, 2].map(() => {
    button.click();
    return [head.getAttribute('aria-sort'),
            shown().map(row => +row.cells[head.cellIndex].dataset.value)];
  });

  const plot = one('#plot');
  const ready = async drawing => {
    for (let n = 0; n < 400 && !drawing.dataset.ready; n++) await new Promise(f => setTimeout(f, 50));
  };
  await ready(plot);
  told.ready = plot.dataset.ready;
  const choices = one('#choices');
  const set = (name, value) => {
    choices[name].value = value;
    choices[name].dispatchEvent(new Event('input', {bubbles: true}));
  };
  const lines = () => plot.data.filter(trace => trace.showlegend !== false);
  const curves = () => lines().map(trace => [trace.name, trace.meta, trace.y.length, trace.x.at(-1)]);
  const offered = [...choices.x.options];
  told.default = {group: choices.group.value, curves: curves(), bands: plot.data.length};
  filter('D_ring');
  told.filtered = curves();
  filter('seed<3');
  told.partly = curves();
  filter('');
  set('group', '');
  told.each = curves();
  set('group', 'seed');
  told.bySeed = curves();
  told.means = lines().map(trace => {
    const k = trace.y.length - 1, at = plot.data.indexOf(trace);
    return [plot.data[at - 2].y[k], trace.y[k], plot.data[at - 1].y[k]];
  });
  set('group', 'setting');
  told.x = Object.fromEntries(offered.filter(o => !o.disabled).map(option => {
    set('x', option.value);
    return [option.value, [lines()[1].x.at(-1), plot.layout.xaxis.title.text]];
  }));
  told.disabled = offered.filter(o => o.disabled).map(o => [o.value, o.title]);
  set('x', 'epochs');
  told.log = ['accuracy', 'consensus'].map(metric => {
    set('metric', metric);
    return [plot.layout.yaxis.type, one('#note').textContent, one('#definition').textContent,
            [...choices.metric.options].find(o => o.value === metric).title];
  });
  set('scale', 'linear');
  told.linear = plot.layout.yaxis.type;
  set('metric', 'train_loss');
  set('group', '');
  const rough = trace => trace.y.slice(1).reduce((sum, y, k) => sum + Math.abs(y - trace.y[k]), 0);
  told.rough = ['0', '0.9'].map(weight => { set('smooth', weight); return rough(lines()[0]); });
  set('smooth', '0');
  set('a', '0');
  set('b', '4');
  told.difference = one('#difference').textContent;
  set('b', '1');
  told.seeds = [...all('#difference tr')].map(line => [...line.cells].map(cell => cell.textContent));
  all('.explore tbody tr')[5].querySelector('td').click();
  told.picked = [choices.a.value, choices.b.value];
  plot.emit('plotly_click', {points: [{data: lines()[7]}]});
  told.clicked = [choices.a.value, choices.b.value];
  told.widths = lines().map(trace => trace.line.width);
  told.marked = all('.explore tbody tr.on').map(row => +row.dataset.run).sort();
  const files = [];
  URL.createObjectURL = blob => { files.push(blob); return '#'; };
  const buttons = Object.fromEntries(all('#plot .modebar-btn').map(b => [b.dataset.title, b]));
  told.buttons = Object.keys(buttons);
  buttons['Download the numbers as CSV'].click();
  told.csv = await files[0].text();
  told.svg = decodeURIComponent(await Plotly.toImage(plot, {format: 'svg', width: 600, height: 300})).slice(0, 60);
  told.format = plot._context.toImageButtonOptions.format;
  const legend = () => all('#plot .legend .traces').map(entry => entry.style.opacity);
  const wait = () => new Promise(done => setTimeout(done, 700));
  const press = async entry => {  // as a mouse does; Plotly waits for a second click
    const toggle = entry.querySelector('.legendtoggle');
    toggle.dispatchEvent(new MouseEvent('mousedown', {bubbles: true}));
    toggle.dispatchEvent(new MouseEvent('mouseup', {bubbles: true}));
    await wait();
  };
  await press(one('#plot .legend .traces'));
  told.legend = legend();
  set('metric', 'accuracy');
  await wait();
  told.hidden = legend();
  set('metric', 'train_loss');
  await Plotly.relayout(plot, {'xaxis.range': [1, 2], 'yaxis.range': [0, 3]});
  told.kept = JSON.parse(sessionStorage.getItem(`dbench ${document.title}`));
  set('group', 'seed');
  told.zoomed = plot.layout.xaxis.range;
  set('x', 'bytes');
  told.whole = plot.layout.xaxis.autorange;
  told.ink = ['.legendtext', '.xtitle'].map(what => getComputedStyle(one(`#plot ${what}`)).fill);
  told.loaded = performance.getEntriesByType('resource').map(entry => entry.name);
  told.links = [...one('.explore tbody th').querySelectorAll('a')].map(a => a.getAttribute('href'));
  told.target = !!document.getElementById('run-0');
  told.background = getComputedStyle(document.body).backgroundColor;
  const wide = page => [page.documentElement.scrollWidth, page.documentElement.clientWidth];
  told.desktop = [...wide(document),
                  ...all('table').map(t => t.scrollWidth - t.parentElement.clientWidth)];

  const whole = document.documentElement.cloneNode(true), fresh = whole.querySelector('#plot');
  fresh.replaceChildren();
  fresh.removeAttribute('class');
  delete fresh.dataset.ready;
  const frame = document.createElement('iframe');
  frame.style = 'width: 390px; height: 800px; border: 0';
  await new Promise(done => {
    frame.onload = done;
    frame.srcdoc = whole.outerHTML;
    document.body.append(frame);
  });
  await ready(frame.contentDocument.querySelector('#plot'));
  told.phone = wide(frame.contentDocument);
  frame.remove();

  const rules = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules])
    .filter(rule => rule.media && rule.media.mediaText === 'print')
    .flatMap(rule => [...rule.cssRules]).map(rule => rule.cssText).join('\n');
  document.head.append(Object.assign(document.createElement('style'), {textContent: rules}));
  document.documentElement.style.width = '186mm';  // A4 less the margins
  told.print = all('.scroll').filter(s => s.offsetParent)
    .map(s => [s.scrollWidth - s.clientWidth, s.scrollHeight - s.clientHeight]);
}
