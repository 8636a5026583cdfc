// Decides which files make the configuration, and which of them cannot be read (docs/configuration.md,
// "Where files are looked for"). resolve.ts interprets their texts. Files are read synchronously, because
// they are few, and because the first asynchronous call would start libuv's threads.

import { isUtf8 } from 'node:buffer';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { printable } from '../../printable.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { configDirectory, type Environment } from './keys.js';
import { type ConfigFile, type Configuration, resolve, type WrongConfiguration } from './resolve.js';

const SYSTEM_CONFIG = '/etc/tonearm/config.yaml';

/**
 * The size of a file. It bounds the cost of parsing, too: 64 KiB of brackets take about a second and 60 MB.
 */
const MAX_FILE_BYTES = 64 * 1024;

/** How many files a conf.d may have. */
const MAX_DROP_INS = 256;

/** The bits of a file's mode by which its group and all others may read it. */
const READ_BY_OTHERS = 0o044;

/** Stands in a decoded text for bytes that are not UTF-8. */
const REPLACEMENT_CHARACTER = '\ufffd';

export interface LoadRequest extends Environment {
  /** The argument of `--config`: only this file is read. */
  readonly configPath?: string | undefined;
  /** By default `/etc/tonearm/config.yaml`. */
  readonly systemConfig?: string;
}

export type LoadResult = Result<LoadedConfiguration, WrongConfiguration>;

export interface LoadedConfiguration extends Configuration {
  /** The main file that was read; absent if there is none and the defaults apply. */
  readonly source?: string;
}

/** A file, or the line for people that says why it cannot be read. */
type FileRead = Result<ConfigFile, string>;

/** A file that is wrong or cannot be read is a failed result. Rejects only by a fault of ours. */
export async function loadSettings(request: LoadRequest): Promise<LoadResult> {
  const { configPath, systemConfig = SYSTEM_CONFIG } = request;
  const directory = configDirectory(request);
  const main =
    configPath === undefined
      ? firstExisting(directory, systemConfig)
      : (readConfig(configPath) ?? missing(configPath));
  if (main === undefined) return resolve([], request);
  if (!main.ok) return failed({ problems: [main.error], warnings: [] });
  const { path } = main.value;
  const reads = [main, ...dropIns(join(dirname(path), 'conf.d'))];
  const problems = reads.flatMap((read) => (read.ok ? [] : [read.error]));
  if (problems.length > 0) return failed({ problems, warnings: [] });
  const files = reads.flatMap((read) => (read.ok ? [read.value] : []));
  const resolved = await resolve(files, { ...request, secretFault });
  return resolved.ok ? success({ ...resolved.value, source: path }) : resolved;
}

/**
 * The user's file, else the system's; undefined if neither exists. A user's file that exists but cannot be
 * read is a problem: it is not skipped.
 */
function firstExisting(directory: string | undefined, systemConfig: string): FileRead | undefined {
  const ofUser = directory === undefined ? undefined : readConfig(`${directory}/tonearm/config.yaml`);
  return ofUser ?? readConfig(systemConfig);
}

/** The files of a conf.d, sorted by their names. */
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
    return isDanglingLink(folder) ? [failed(problemAt(folder, BROKEN_LINK))] : [];
  }
}

/** Undefined if there is no such file. */
function readConfig(path: string): FileRead | undefined {
  const unreadable = (text: string, line?: number) => failed(problemAt(path, text, line));
  try {
    const result = readBounded(path);
    if (!result.ok) return unreadable(result.error);
    const bytes = result.value;
    if (bytes.length > MAX_FILE_BYTES)
      return unreadable(`document: is larger than ${MAX_FILE_BYTES} bytes`, 1);
    // A TextDecoder is not used, because the first one costs 5 ms of CPU. The parser removes a byte order
    // mark.
    const text = bytes.toString();
    if (isUtf8(bytes)) return success({ path, text });
    const beforeBadBytes = text.slice(0, text.indexOf(REPLACEMENT_CHARACTER));
    return unreadable('syntax: is not UTF-8', beforeBadBytes.split('\n').length);
  } catch (error) {
    const { code, text } = systemFault(error);
    if (code === 'ENOENT' && isDanglingLink(path)) return unreadable(BROKEN_LINK);
    return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : unreadable(text);
  }
}

/**
 * True if a path that does not exist is a dangling link, or if one of the directories above it is, for
 * instance a link to a disk that is not mounted. Such a link shows that there should be a configuration, so
 * the defaults must not be used in its place.
 */
function isDanglingLink(path: string): boolean {
  const entry = fs.lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return dirname(path) !== path && isDanglingLink(dirname(path));
  return entry.isSymbolicLink() && fs.statSync(path, { throwIfNoEntry: false }) === undefined;
}

/**
 * The file's bytes, at most one more than is allowed, or what is wrong with the file. The file is opened
 * without blocking, because a FIFO that nobody writes to must neither block the start nor count as an empty
 * file. Throws the system's error.
 */
function readBounded(path: string): Result<Buffer, string> {
  const handle = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  try {
    const stats = fs.fstatSync(handle);
    // A device is allowed because of /dev/null, which is empty. A link to it masks a file of conf.d.
    if (!stats.isFile() && !stats.isCharacterDevice())
      return failed(`cannot be read: it is ${kindOfFile(stats)}`);
    const bytes = Buffer.alloc(MAX_FILE_BYTES + 1);
    return success(bytes.subarray(0, fs.readSync(handle, bytes)));
  } finally {
    fs.closeSync(handle);
  }
}

/**
 * The fault of a file that holds a secret; undefined if there is none. Only our own user may be able to read
 * the file.
 */
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

const BROKEN_LINK = 'cannot be read: it is, or is behind, a broken link';

function missing(path: string): FileRead {
  return failed(problemAt(path, 'cannot be read: no such file or directory'));
}

function problemAt(path: string, text: string, line?: number): string {
  const place = line === undefined ? path : `${path}:${line}:1`;
  return `${printable(place)}: ${text}`;
}

/**
 * The code of a system error, and the system's own words for it. Throws any other error again: it is a bug.
 */
function systemFault(error: unknown): { readonly code: string; readonly text: string } {
  if (!(error instanceof Error && 'code' in error && typeof error.code === 'string')) throw error;
  // The message has the form `CODE: words, CALL 'PATH'`.
  const words = /^\w+: (.*?), /.exec(error.message)?.[1] ?? error.code;
  return { code: error.code, text: `cannot be read: ${words}` };
}
