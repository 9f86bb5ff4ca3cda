// What a reader does with the report of several runs, in a browser: the answers are left in #told.
(async () => {
  if (window.top !== window) return;  // the page in the frame of a phone's width
  const told = {faults: window.faults};
  const one = selector => document.querySelector(selector);
  const all = selector => [...document.querySelectorAll(selector)];
  const shown = () => all('.explore tbody tr').filter(row => !row.hidden);
  const filter = words => {
    one('.explore input').value = words;
    one('.explore input').dispatchEvent(new Event('input'));
    return [shown().length, one('.explore .count').textContent,
            all('.curves path.c:not(.off)').length];
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

  const line = one('.curves path.h'), box = line.getBoundingClientRect();
  line.dispatchEvent(new MouseEvent('mousemove', {
    bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2}));
  told.tip = [getComputedStyle(one('.tip')).display, one('.tip').textContent];
  line.dispatchEvent(new MouseEvent('mouseleave'));
  told.after = getComputedStyle(one('.tip')).display;
  told.background = getComputedStyle(document.body).backgroundColor;
  const wide = page => [page.documentElement.scrollWidth, page.documentElement.clientWidth];
  told.desktop = [...wide(document),
                  ...all('table').map(t => t.scrollWidth - t.parentElement.clientWidth)];

  const frame = document.createElement('iframe');
  frame.style = 'width: 390px; height: 800px; border: 0';
  await new Promise(done => {
    frame.onload = done;
    frame.srcdoc = document.documentElement.outerHTML;
    document.body.append(frame);
  });
  told.phone = wide(frame.contentDocument);
  frame.remove();

  const rules = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules])
    .filter(rule => rule.media && rule.media.mediaText === 'print')
    .flatMap(rule => [...rule.cssRules]).map(rule => rule.cssText).join('\n');
  document.head.append(Object.assign(document.createElement('style'), {textContent: rules}));
  document.documentElement.style.width = '186mm';  // A4 less the margins
  told.print = all('.scroll').filter(s => s.offsetParent)
    .map(s => [s.scrollWidth - s.clientWidth, s.scrollHeight - s.clientHeight]);
  one('#told').textContent = JSON.stringify(told);
})();
