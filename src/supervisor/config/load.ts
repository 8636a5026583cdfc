// Decides which files make up the configuration, and which of them cannot be read. There is one main file,
// and a folder `conf.d` beside it (docs/configuration.md, "Where files are looked for"). Files are read
// synchronously, because the first asynchronous read would start libuv's threads.

import { isUtf8 } from 'node:buffer';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { printable } from '../../printable.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { configDirectory, type Environment } from './keys.js';
import { type ConfigFile, type Configuration, resolve, type WrongConfiguration } from './resolve.js';

const SYSTEM_CONFIG = '/etc/tonearm/config.yaml';

/** The limit bounds the cost of parsing: 64 KiB of brackets take about a second and 60 MB of memory. */
const FILE_MAX_BYTES = 64 * 1024;

/** A folder `conf.d` may have at most this many YAML files. */
const CONF_D_FILES_MAX = 256;

/** The bits of a file's mode by which its group and all others may read it. */
const READ_BY_OTHERS = 0o044;

const BROKEN_LINK = 'cannot be read: it is, or is behind, a broken link';

export interface LoadRequest extends Environment {
  /** The file of `--config`. It is read instead of the user's file and of the system's file. */
  readonly configPath?: string | undefined;
  /** By default `/etc/tonearm/config.yaml`. */
  readonly systemConfig?: string;
}

export type LoadResult = Result<LoadedConfiguration, WrongConfiguration>;

export interface LoadedConfiguration extends Configuration {
  /** The main file that was read; absent if there is none and the defaults apply. */
  readonly source?: string;
}

/** The error says in one line why the file cannot be read. */
type ConfigFileResult = Result<ConfigFile, string>;

/** If a file is wrong or cannot be read, the result has failed. Only a bug makes the promise reject. */
export async function loadSettings(request: LoadRequest): Promise<LoadResult> {
  const { configPath, systemConfig = SYSTEM_CONFIG } = request;
  const directory = configDirectory(request);
  const mainFile =
    configPath === undefined
      ? firstExisting(directory, systemConfig)
      : (readConfig(configPath) ?? missingFile(configPath));
  // Without a main file no folder `conf.d` is read, because `conf.d` stands beside the main file.
  if (mainFile === undefined) return resolve([], request);
  if (!mainFile.ok) return failed({ problems: [mainFile.error], warnings: [] });
  const { path } = mainFile.value;
  const files: ConfigFile[] = [];
  const problems: string[] = [];
  for (const result of [mainFile, ...filesInConfD(join(dirname(path), 'conf.d'))]) {
    if (result.ok) files.push(result.value);
    else problems.push(result.error);
  }
  if (problems.length > 0) return failed({ problems, warnings: [] });
  // A `secretFault` in the request replaces the function below.
  const resolved = await resolve(files, { secretFault, ...request });
  return resolved.ok ? success({ ...resolved.value, source: path }) : resolved;
}

/**
 * Returns the user's file, or the system's file if there is no user's file; undefined if neither exists. A
 * user's file that cannot be read is a problem, and the system's file is not tried.
 */
function firstExisting(directory: string | undefined, systemConfig: string): ConfigFileResult | undefined {
  const usersFile = directory === undefined ? undefined : readConfig(`${directory}/tonearm/config.yaml`);
  return usersFile ?? readConfig(systemConfig);
}

/** The YAML files of the folder, sorted by name. Hidden files are left out. */
function filesInConfD(folder: string): readonly ConfigFileResult[] {
  try {
    const names = fs.readdirSync(folder).filter((name) => /^[^.].*\.ya?ml$/s.test(name));
    if (names.length > CONF_D_FILES_MAX)
      return [failed(problemAt(folder, `more than ${CONF_D_FILES_MAX} configuration files`))];
    // A file may have been deleted since it was listed.
    return names.sort().map((name) => readConfig(join(folder, name)) ?? missingFile(join(folder, name)));
  } catch (error) {
    const { code, text } = systemFault(error);
    // A folder `conf.d` may be absent. ENOTDIR is a problem here, because then `conf.d` is a file.
    if (code !== 'ENOENT') return [failed(problemAt(folder, text))];
    return hasBrokenLink(folder) ? [failed(problemAt(folder, BROKEN_LINK))] : [];
  }
}

/** Returns undefined if there is no such file. */
function readConfig(path: string): ConfigFileResult | undefined {
  const failedBecause = (text: string, line?: number) => failed(problemAt(path, text, line));
  try {
    const result = readBounded(path);
    if (!result.ok) return failedBecause(result.error);
    const bytes = result.value;
    if (bytes.length > FILE_MAX_BYTES)
      return failedBecause(`document: is larger than ${FILE_MAX_BYTES} bytes`, 1);
    // No TextDecoder is used, because the first one costs 5 ms of CPU. Unlike a TextDecoder, `toString` keeps
    // a byte order mark, but the YAML parser removes the mark.
    if (isUtf8(bytes)) return success({ path, text: bytes.toString() });
    // Latin-1 has one character for each byte, so each line can be converted back to its bytes.
    const lines = bytes.toString('latin1').split('\n');
    const badLine = lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1')));
    return failedBecause('syntax: is not UTF-8', badLine + 1);
  } catch (error) {
    const { code, text } = systemFault(error);
    if (code === 'ENOENT' && hasBrokenLink(path)) return failedBecause(BROKEN_LINK);
    // ENOTDIR means that a part of the path is a file instead of a folder, so there is no such file either.
    return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : failedBecause(text);
  }
}

/**
 * To be called if opening `path` has failed with ENOENT. True if `path`, or a directory above it, is a link
 * whose target does not exist, for instance because a disk is not mounted. Such a link means that there
 * should be a configuration, so the defaults must not be used.
 */
function hasBrokenLink(path: string): boolean {
  const linkStats = fs.lstatSync(path, { throwIfNoEntry: false });
  if (linkStats === undefined) return dirname(path) !== path && hasBrokenLink(dirname(path));
  return linkStats.isSymbolicLink() && fs.statSync(path, { throwIfNoEntry: false }) === undefined;
}

/**
 * Returns at most one byte more than `FILE_MAX_BYTES`. This byte means that the file is too long. The result
 * has failed if the file is of a wrong kind, such as a directory. Throws the system's error if the file
 * cannot be opened or read. The file is opened without blocking, because a FIFO that nobody writes to would
 * block the start.
 */
function readBounded(path: string): Result<Buffer, string> {
  const handle = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  try {
    const stats = fs.fstatSync(handle);
    // A device is allowed because of /dev/null: a link to /dev/null counts as an empty file.
    if (!stats.isFile() && !stats.isCharacterDevice())
      return failed(`cannot be read: it is ${kindOfFile(stats)}`);
    const bytes = Buffer.alloc(FILE_MAX_BYTES + 1);
    return success(bytes.subarray(0, fs.readSync(handle, bytes)));
  } finally {
    fs.closeSync(handle);
  }
}

/**
 * Returns what is wrong with a file that contains a secret; undefined if nothing is wrong. The file's mode
 * must not let other users read the file.
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

function missingFile(path: string): ConfigFileResult {
  return failed(problemAt(path, 'cannot be read: no such file or directory'));
}

function problemAt(path: string, text: string, line?: number): string {
  const place = line === undefined ? path : `${path}:${line}:1`;
  return `${printable(place)}: ${text}`;
}

/** The text has the system's own words. An error that is not the system's is a bug, and is thrown again. */
function systemFault(error: unknown): { readonly code: string; readonly text: string } {
  if (!(error instanceof Error && 'code' in error && typeof error.code === 'string')) throw error;
  // The message has the form `CODE: words, CALL 'PATH'`, such as `EACCES: permission denied, open '/x'`.
  const words = /^\w+: (.*?), /.exec(error.message)?.[1] ?? error.code;
  return { code: error.code, text: `cannot be read: ${words}` };
}
