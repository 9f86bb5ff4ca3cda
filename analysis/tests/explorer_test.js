// The script of the report's page over a page of a few objects: node explorer_test.js SCRIPT
const element = extra => ({
  attributes: {}, getAttribute(key) { return this.attributes[key] ?? null; },
  setAttribute(key, value) { this.attributes[key] = value; },
  removeAttribute(key) { delete this.attributes[key]; },
  dataset: {}, style: {}, classList: {toggle() {}}, listeners: {},
  addEventListener(kind, f) { this.listeners[kind] = f; }, ...extra});
const facts = [
  {name: '07', implementation: 'D_ring', replicas: 8, lr: 0.1},
  {name: '7', implementation: 'D_torus', replicas: 16, lr: null},
  {name: '1e3', implementation: 'D_ring', replicas: 16, lr: 0.2}];
const labels = ['base_k k=3', 'base_k k=1', 'matcha links={"a": 1}'];
facts.forEach((fact, i) => { fact.graph_label = labels[i]; });
const cells = fact => [
  {dataset: {}, textContent: fact.implementation},
  {dataset: {value: fact.lr === null ? '' : String(fact.lr)}, textContent: '-'}];
const body = {append: row => order.push(rows.indexOf(row))};
const rows = facts.map(fact => element({
  parentNode: body,
  dataset: {facts: JSON.stringify(fact)}, textContent: `${fact.implementation} ${fact.replicas}`,
  cells: cells(fact)}));
const heads = [element(), element()], box = element({value: ''}), count = element(), order = [];
const several = {'.explore tbody tr': rows, '.explore thead th': heads};
const single = {'.explore input': box, '.explore .count': count};
globalThis.document = {
  querySelectorAll: selector => several[selector] ?? [],
  querySelector: selector => single[selector] ?? element()};

(0, eval)(require('fs').readFileSync(process.argv[2], 'utf8'));

const equal = (a, b) => { if (a !== b) throw new Error(`${a} is not ${b}`); };
const left = (text, expected) => {
  box.value = text;
  box.oninput();
  equal(rows.map((row, i) => row.hidden ? '' : i).join(''), expected);
};
left('', '012');
left('ring', '02');
left('ring replicas=16', '2');
left('replicas!=16', '0');
left('lr>0.1', '2');
left('lr>=0.1', '02');
left('implementation=d_ring|d_torus replicas<16', '0');
left('name=7', '1');
left('name=1000', '');
left('nothing', '');
equal(count.textContent, '0 of 3 runs: "nothing" is in no row');
left('lrr=0.1', '');
equal(count.textContent, '0 of 3 runs: there is no field lrr: did you mean lr?');
left('implementation=d_tors', '');
equal(count.textContent,
      '0 of 3 runs: no run has implementation=d_tors; nearest is implementation=D_torus');
left('ring replicas=9|8 lr>0.1', '');
left('lr=0.2 replicas=8', '');
equal(count.textContent, '0 of 3 runs: no run has all of this');
left('graph_label="base_k k=3"', '0');
left('"graph_label=base_k k=3"', '');
equal(count.textContent, '0 of 3 runs: "graph_label=base_k k=3" is in no row');
left('"', '012');
left('"Base_k k"', '01');
left('"base_k k=3"', '0');
left('graph_label="base_k k=3|base_k k=1" replicas=16', '1');
left('graph_label!="base_k k=3"', '12');
left('graph_label="matcha links={a: 1}"', '2');
left('graph_label=matcha" "links={"a":" "1}', '2');
left('graph_label="base_k k=3', '0');
left('graph_label="base_k k=2"', '');
equal(count.textContent,
      '0 of 3 runs: no run has graph_label="base_k k=2"; nearest is graph_label="base_k k=3"');
for (const expected of ['021', '201']) {
  heads[1].listeners.click();
  equal(order.splice(0).join(''), expected);
}
console.log('done');
