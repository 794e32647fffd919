// Tells the server that a frame was painted, so that it sends the next one.

export function tellPainted(picture) {
  if (picture.painted === null) {
    return;
  }
  const n = picture.painted;
  picture.painted = null;
  const channel = new MessageChannel();
  channel.port1.onmessage = () => {
    const { dataset } = picture.canvas;
    channel.port1.close();
    dataset.painted = Number(dataset.painted ?? 0) + 1;
    picture.send({ kind: "painted", n });
  };
  channel.port2.postMessage(null);
}
