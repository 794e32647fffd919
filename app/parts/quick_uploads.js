// Let the files of an upload come together. As it is set up, each of them takes a second for show,
// and two are on their way at a time.
document.addEventListener("DOMContentLoaded", () => {
  window.FilePond?.setOptions({allowMinimumUploadDuration: false, maxParallelUploads: 100})
})
