"use strict";
// Names: what browsers call keys, what the engine calls them, and what the on-screen keyboard shows.

/** Keys that are sent by name. What is not here and makes one character is sent as that character, through the desktop's own layout. */
const NAMED = new Set([
  "Enter", "Tab", "Escape", "Backspace", "Delete", "Insert", "Home", "End", "PageUp", "PageDown",
  "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "CapsLock", "NumLock", "ScrollLock", "Pause", "PrintScreen", "ContextMenu", "Help",
  "Convert", "NonConvert", "KanaMode",
  "AudioVolumeMute", "AudioVolumeDown", "AudioVolumeUp", "MediaPlayPause", "MediaStop", "MediaTrackNext", "MediaTrackPrevious",
  ...Array.from({ length: 24 }, (_, at) => `F${at + 1}`),
]);

/** Modifiers that stay down on the desktop while they are down here. Shift and AltGraph do not: they belong to the character that they make. */
const HELD = { ControlLeft: "ControlLeft", ControlRight: "ControlRight", AltLeft: "AltLeft", MetaLeft: "MetaLeft", MetaRight: "MetaRight" };

const APPLE = /Mac|iPhone|iPad/.test(navigator.platform);
const ANDROID = /Android/.test(navigator.userAgent);

/** What the row of keys offers: [shown, name, spoken]. */
const ROW = [
  ["Esc", "Escape", "Escape"], ["Tab", "Tab", "Tab"], null,
  ["Ctrl", "Control", "Control"], ["Alt", "Alt", "Alt"], ["Shift", "Shift", "Shift"], ["Super", "Meta", "Super"], null,
  ["←", "ArrowLeft", "Left"], ["↓", "ArrowDown", "Down"], ["↑", "ArrowUp", "Up"], ["→", "ArrowRight", "Right"], null,
  ["Home", "Home", "Home"], ["End", "End", "End"], ["PgUp", "PageUp", "Page up"], ["PgDn", "PageDown", "Page down"],
  ["Ins", "Insert", "Insert"], ["Del", "Delete", "Delete"], null,
  ...Array.from({ length: 12 }, (_, at) => [`F${at + 1}`, `F${at + 1}`, `F${at + 1}`]),
];
const STICKY = ["Control", "Alt", "Shift", "Meta"];

/** Layouts of the on-screen keyboard: rows of [plain, with Shift, with AltGr]. */
const LAYOUTS = {
  us: ["English (US)", [
    ["`1234567890-=", "~!@#$%^&*()_+"], ["qwertyuiop[]\\", "QWERTYUIOP{}|"], ["asdfghjkl;'", "ASDFGHJKL:\""], ["zxcvbnm,./", "ZXCVBNM<>?"]]],
  gb: ["English (UK)", [
    ["`1234567890-=", "¬!\"£$%^&*()_+", "¦   €        "], ["qwertyuiop[]", "QWERTYUIOP{}"],
    ["asdfghjkl;'#", "ASDFGHJKL:@~"], ["\\zxcvbnm,./", "|ZXCVBNM<>?"]]],
  de: ["Deutsch", [
    ["^1234567890ß´", "°!\"§$%&/()=?`", "  ²³   {[]}\\ "], ["qwertzuiopü+", "QWERTZUIOPÜ*", "@ €        ~"],
    ["asdfghjklöä#", "ASDFGHJKLÖÄ'"], ["<yxcvbnm,.-", ">YXCVBNM;:_", "|      µ   "]]],
  fr: ["Français", [
    ["²&é\"'(-è_çà)=", " 1234567890°+", "  ~#{[|`\\^@]}"], ["azertyuiop^$", "AZERTYUIOP¨£", "  €         "],
    ["qsdfghjklmù*", "QSDFGHJKLM%µ"], ["<wxcvbn,;:!", ">WXCVBN?./§"]]],
  es: ["Español", [
    ["º1234567890'¡", "ª!\"·$%&/()=?¿", "\\|@#~€¬      "], ["qwertyuiop`+", "QWERTYUIOP^*", "          []"],
    ["asdfghjklñ´ç", "ASDFGHJKLÑ¨Ç", "          {}"], ["<zxcvbnm,.-", ">ZXCVBNM;:_"]]],
};
