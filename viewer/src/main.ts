// The page: one section a run, one above the other, sharing time, colours and what is chosen.

import './style.css';
import { runs } from './data/run';
import { h } from './dom';
import { Page } from './page';
import * as tip from './tip';

const all = runs();
const main = document.getElementById('page') ?? document.body;
if (all.length === 0) main.append(h('p', {}, 'There is no run in this page.'));
else if (typeof DecompressionStream === 'undefined') main.append(h('p', {}, 'This browser is too old for this page: it needs DecompressionStream.'));
else {
  tip.attach();
  void new Page(all, main).begin();
}
