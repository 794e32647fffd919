// Let the browser itself load modules, from the address they have: it then keeps their compiled code.
// Panel asks es-module-shims, which reads each script, and makes another one of it at an address that
// is new in every tab. It does so for import maps, which nothing here needs.
window.importShim = (address) => import(new URL(address, document.baseURI).href)
window.importShim.addImportMap = () => {}
