// Is loaded into npm if npm runs on another Node than the one that the packages are for. npm leaves out
// optional packages whose `engines` do not name the Node of `process.version`, and prints nothing about it.
// The binaries of tools are such packages.

Object.defineProperty(process, 'version', { value: process.env.TONEARM_PACKAGES_FOR });
