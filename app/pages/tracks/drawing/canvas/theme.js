// Colours of the tracks in the dark and in the light theme.

const DARK = {
  isDark: true,
  ground: "#0b1018",
  line: "#243041",
  ink: "#dbe4ef",
  faint: "#8fa1b8",
  halo: "rgba(11, 16, 24, 0.85)",
  cross: "rgba(255, 255, 255, 0.5)",
  window: "rgba(255, 255, 255, 0.14)",
  box: "#f3c26b",
  clip: "#ff4fd8",
  chosen: "rgba(127, 160, 200, 0.07)",
};
const LIGHT = {
  isDark: false,
  ground: "#ffffff",
  line: "#d6dde7",
  ink: "#17202c",
  faint: "#5b6a80",
  halo: "rgba(255, 255, 255, 0.88)",
  cross: "rgba(20, 30, 45, 0.5)",
  window: "rgba(20, 60, 110, 0.10)",
  box: "#b25e00",
  clip: "#d0009f",
  chosen: "rgba(30, 90, 160, 0.05)",
};
const SHADE = 0.78;

// Detect the theme of an element: text is light on a dark page.
export function themeOf(element) {
  const [red, green, blue] = getComputedStyle(element).color.match(/[\d.]+/g).map(Number);
  return red + green + blue > 380 ? DARK : LIGHT;
}

// A track's colour, darkened on a white background.
export function shade(colour, theme) {
  if (theme.isDark) {
    return colour;
  }
  const parts = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  return `rgb(${parts.map((part) => Math.round(part * SHADE)).join(" ")})`;
}
