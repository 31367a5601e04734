// Entry: reads the data block of the page and builds the page that it names.

import { frontier_page, type FrontierData } from './frontier';
import { histograms_page, type HistogramsData } from './histograms';
import { lines_page, type LinesData } from './lines';
import { ranges_page, type RangesData } from './ranges';
import { sensitivity_page } from './sensitivity';
import type { PageData } from './page';
import type { SensitivityData } from './ranking';

const block = document.getElementById('data');
const data = JSON.parse(block?.textContent ?? '') as PageData;
document.title = data.title;
switch (data.page) {
  case 'sensitivity':
    sensitivity_page(data as SensitivityData);
    break;
  case 'ranges':
    ranges_page(data as RangesData);
    break;
  case 'frontier':
    frontier_page(data as FrontierData);
    break;
  case 'lines':
    lines_page(data as LinesData);
    break;
  case 'histograms':
    histograms_page(data as HistogramsData);
    break;
  default:
    throw new Error(`report: no page is named "${data.page}"`);
}
