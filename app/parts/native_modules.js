// Let the browser itself load modules, from the address they have: it then keeps their compiled code.
// Panel asks es-module-shims, which reads each script, and makes another one of it at an address that
// is new in every tab. It does so for import maps, which nothing here needs.
window.importShim = async (address) => {
  const module = await import(new URL(address, document.baseURI).href)
  if (module.default?.createCache && !module.default.sharesStyles) shareStyles(module.default)
  return module
}
window.importShim.addImportMap = () => {}

// Let what MUI writes as a style be made into rules of CSS once for a page. Each component keeps its
// styles in a shadow root of its own, under a name of its own, so that no two of them would be alike.
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
