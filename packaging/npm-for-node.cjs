// Loaded into npm where the Node that npm runs on is not the one that the packages are for: npm leaves out optional packages,
// such as the native halves of tools, whose `engines` do not name the Node of `process.version`, and says nothing.

Object.defineProperty(process, 'version', { value: process.env.TONEARM_PACKAGES_FOR });
