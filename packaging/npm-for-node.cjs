// Is loaded into npm if npm runs on another Node than the one that the packages are for. npm leaves out
// optional packages whose `engines` do not name the Node of `process.version`, such as the native halves of
// tools, and prints nothing about it.

Object.defineProperty(process, 'version', { value: process.env.TONEARM_PACKAGES_FOR });
