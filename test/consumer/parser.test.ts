// The tests' own consumer must be correct itself.

import { parsedByConsumer } from './parser.js';
import { keepsTheStandard } from './standard-streams.js';

keepsTheStandard(parsedByConsumer);
