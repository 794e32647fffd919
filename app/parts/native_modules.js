// Load modules natively from their real address, so that the browser caches their compiled code.
// Panel uses es-module-shims, which rewrites each script under a new address in every tab. It does
// so for import maps, which are not used here.
window.importShim = async (address) => {
  const module = await import(new URL(address, document.baseURI).href)
  if (module.default?.createCache && !module.default.sharesStyles) shareStyles(module.default)
  return module
}
window.importShim.addImportMap = () => {}

// Serialize MUI's CSS rules once per page. By default, each component has its own shadow root with
// a unique class prefix, which prevents sharing.
function shareStyles(parts) {
  const {createCache} = parts
  const rulesOf = new Map()
  parts.sharesStyles = true
  parts.createCache = (options) => {
    const cache = createCache({...options, key: "css-of"})
    const {insert} = cache
    cache.insert = (selector, serialized, sheet, isKept) => {
      const name = `${selector} ${serialized.name}`
      if (!rulesOf.has(name)) {
        const rules = []
        insert(selector, serialized, {insert: (rule) => rules.push(rule)}, false)
        rulesOf.set(name, rules)
      }
      for (const rule of rulesOf.get(name)) sheet.insert(rule)
      if (isKept) cache.inserted[serialized.name] = true
    }
    return cache
  }
}
