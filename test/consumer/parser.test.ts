// The consumer of the tests must itself be right.

import { parsedByConsumer } from './parser.js';
import { keepsTheStandard } from './standard-streams.js';

keepsTheStandard(parsedByConsumer);
