// Draws the timeline of a page (timeline.py) with Plotly.
(async () => {
  const at = id => document.getElementById(id);
  const unpacked = id => new Response(
    new Blob([Uint8Array.from(atob(at(id).textContent), c => c.charCodeAt(0))]).stream()
      .pipeThrough(new DecompressionStream('gzip'))).text();
  if (!window.DecompressionStream) {
    at('note').textContent = 'This browser is too old for the timeline (it has no DecompressionStream).';
    return;
  }
  const {data, layout} = JSON.parse(await unpacked('timeline-figure'));
  const script = document.createElement('script');
  script.textContent = await unpacked('timeline-library');
  document.head.append(script);
  script.remove();

  const plot = at('timeline');
  const draw = () => {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue('--ink'), line = style.getPropertyValue('--line');
    for (const trace of data.filter(one => one.meta === 'page')) {
      if (trace.line) trace.line.color = ink;
      if (trace.marker) trace.marker.color = ink;
      if (trace.mode === 'text') trace.textfont = {color: ink};
    }
    for (const key of Object.keys(layout).filter(name => /^[xy]axis/.test(name))) {
      Object.assign(layout[key], {gridcolor: line, linecolor: line});
    }
    Object.assign(layout, {
      font: {color: ink, family: 'system-ui, sans-serif', size: 13}, uirevision: 'kept',
      paper_bgcolor: 'transparent', plot_bgcolor: 'transparent',
      modebar: {bgcolor: 'transparent', color: '#888'}});
    return Plotly.react(plot, data, layout, {
      responsive: true, displaylogo: false, scrollZoom: false,
      toImageButtonOptions: {format: 'svg', filename: 'timeline'},
      modeBarButtons: [['zoom2d', 'pan2d', 'zoomIn2d', 'zoomOut2d', 'resetScale2d', 'toImage']]});
  };
  await draw();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  plot.dataset.ready = 'yes';
})();
