// Finds and reads the configuration's files, and returns settings or all problems (docs/configuration.md,
// "Where files are looked for"). resolve.ts interprets the texts. Files are read synchronously: this happens
// once, before anything else, and a first asynchronous call would start libuv's threads.

import { isUtf8 } from 'node:buffer';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { printable } from '../../printable.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { configDirectory, type Environment } from './keys.js';
import { type ConfigFile, type Configuration, resolve, type WrongConfiguration } from './resolve.js';

const SYSTEM_CONFIG = '/etc/tonearm/config.yaml';

/** Limit for a file. It also limits the cost of parsing: 64 KiB of brackets take about a second and 60 MB. */
const MAX_FILE_BYTES = 64 * 1024;

/** Limit for one conf.d. */
const MAX_DROP_INS = 256;

/** The bits of a file's mode for its group and all others. */
const READ_BY_OTHERS = 0o044;

/** Stands in a decoded text for bytes that are not UTF-8. */
const REPLACEMENT_CHARACTER = '\ufffd';

export interface LoadRequest extends Environment {
  /** The argument of `--config`: only this file is read. */
  readonly configPath?: string | undefined;
  /** Used in place of `/etc/tonearm/config.yaml`. */
  readonly systemConfig?: string;
}

export type LoadResult = Result<LoadedConfiguration, WrongConfiguration>;

export interface LoadedConfiguration extends Configuration {
  /** The main file that was read; absent if there is none and the defaults apply. */
  readonly source?: string;
}

/** A file, or the line that says why it cannot be read. */
type FileRead = Result<ConfigFile, string>;

/** Does not reject because of a file's content or because it cannot be read. */
export async function loadSettings(request: LoadRequest): Promise<LoadResult> {
  const { configPath, systemConfig = SYSTEM_CONFIG } = request;
  const directory = configDirectory(request);
  // The first file that exists. One that exists but cannot be read is a problem and is not skipped.
  const found = (): FileRead | undefined =>
    (directory && readConfig(`${directory}/tonearm/config.yaml`)) || readConfig(systemConfig);
  const main = configPath === undefined ? found() : (readConfig(configPath) ?? missing(configPath));
  if (main === undefined) return resolve([], request);
  if (!main.ok) return failed({ problems: [main.error], warnings: [] });
  const { path } = main.value;
  const read = [main, ...dropIns(join(dirname(path), 'conf.d'))];
  const problems = read.flatMap((each) => (each.ok ? [] : [each.error]));
  if (problems.length > 0) return failed({ problems, warnings: [] });
  const files = read.flatMap((each) => (each.ok ? [each.value] : []));
  const resolved = await resolve(files, { ...request, secretFault });
  return resolved.ok ? success({ ...resolved.value, source: path }) : resolved;
}

/** The files of a conf.d, by name. */
function dropIns(folder: string): readonly FileRead[] {
  try {
    const names = fs.readdirSync(folder).filter((name) => /^[^.].*\.ya?ml$/s.test(name));
    if (names.length > MAX_DROP_INS)
      return [failed(problemAt(folder, `more than ${MAX_DROP_INS} configuration files`))];
    // A file may have been deleted since it was listed.
    return names.sort().map((name) => readConfig(join(folder, name)) ?? missing(join(folder, name)));
  } catch (error) {
    const { code, text } = systemFault(error);
    if (code !== 'ENOENT') return [failed(problemAt(folder, text))];
    return isDanglingLink(folder) ? [failed(problemAt(folder, NOWHERE))] : [];
  }
}

/** Undefined if there is no such file. */
function readConfig(path: string): FileRead | undefined {
  const unreadable = (text: string, line?: number) => failed(problemAt(path, text, line));
  try {
    const read = readBounded(path);
    if (!read.ok) return unreadable(read.error);
    const bytes = read.value;
    if (bytes.length > MAX_FILE_BYTES)
      return unreadable(`document: is larger than ${MAX_FILE_BYTES} bytes`, 1);
    // No TextDecoder, the first of which costs 5 ms of CPU. A byte order mark is the parser's.
    const text = bytes.toString();
    const before = text.slice(0, text.indexOf(REPLACEMENT_CHARACTER));
    return isUtf8(bytes)
      ? success({ path, text })
      : unreadable('syntax: is not UTF-8', before.split('\n').length);
  } catch (error) {
    const { code, text } = systemFault(error);
    if (code === 'ENOENT' && isDanglingLink(path)) return unreadable(NOWHERE);
    return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : unreadable(text);
  }
}

/**
 * For a path that does not exist: true if it, or a directory on its way, is a dangling link, for instance to
 * a disk that is not mounted. Such a link shows that a configuration was intended, so the defaults must not
 * be used.
 */
function isDanglingLink(path: string): boolean {
  const entry = fs.lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return dirname(path) !== path && isDanglingLink(dirname(path));
  return entry.isSymbolicLink() && fs.statSync(path, { throwIfNoEntry: false }) === undefined;
}

/**
 * Reads up to one byte more than allowed, or returns what is wrong with the file. Non-blocking: a FIFO
 * without a writer must neither block the start nor count as an empty file.
 */
function readBounded(path: string): Result<Buffer, string> {
  const handle = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  try {
    const stats = fs.fstatSync(handle);
    // Devices are allowed: /dev/null is empty, given by itself or as a link that masks a file of conf.d.
    if (!stats.isFile() && !stats.isCharacterDevice())
      return failed(`cannot be read: it is ${kindOfFile(stats)}`);
    const bytes = Buffer.alloc(MAX_FILE_BYTES + 1);
    return success(bytes.subarray(0, fs.readSync(handle, bytes)));
  } finally {
    fs.closeSync(handle);
  }
}

/** The fault of a file that holds a secret: it must exist, and nobody else may read it. */
function secretFault(path: string): string | undefined {
  try {
    const stats = fs.statSync(path);
    if (!stats.isFile()) return `cannot be read: it is ${kindOfFile(stats)}`;
    fs.accessSync(path, fs.constants.R_OK);
    return (stats.mode & READ_BY_OTHERS) === 0 ? undefined : 'others can read this file: run chmod 600 on it';
  } catch (error) {
    return systemFault(error).text;
  }
}

function kindOfFile(stats: fs.Stats): string {
  if (stats.isDirectory()) return 'a directory';
  return stats.isFIFO() ? 'a FIFO' : 'not a regular file';
}

const NOWHERE = 'cannot be read: it is, or is behind, a broken link';

function missing(path: string): FileRead {
  return failed(problemAt(path, 'cannot be read: no such file or directory'));
}

function problemAt(path: string, text: string, line?: number): string {
  const place = line === undefined ? path : `${path}:${line}:1`;
  return `${printable(place)}: ${text}`;
}

/**
 * The code of a system error, and the system's own words for it; anything else is a bug and is thrown again.
 */
function systemFault(error: unknown): { readonly code: string; readonly text: string } {
  if (!(error instanceof Error && 'code' in error && typeof error.code === 'string')) throw error;
  // `CODE: words, CALL 'PATH'`
  const words = /^\w+: (.*?), /.exec(error.message)?.[1] ?? error.code;
  return { code: error.code, text: `cannot be read: ${words}` };
}
