// What a page must be, whatever it shows. WebDriver runs this in the page as the body of a function, whose first argument says
// what is asked. What is wrong is returned in words.
const [question, ...details] = arguments;
const root = document.documentElement;
const wrong = [];

const isShown = (element) => element.checkVisibility({ visibilityProperty: true });
const all = (selector) => [...document.querySelectorAll(selector)];
const CONTROLS = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
const controls = () => all(CONTROLS).filter((one) => isShown(one) && !one.disabled);
const nameOf = (element) =>
  (element.labels?.length ? element.labels[0].textContent : (element.getAttribute("aria-label") ?? element.textContent)).trim();
const spelled = (element) => `<${element.localName}> "${(nameOf(element) || element.id).slice(0, 60)}"`;

function checkStructure() {
  if (root.lang !== "en") wrong.push(`the language is "${root.lang}"`);
  if (document.title.trim() === "") wrong.push("there is no title");
  const firsts = all("h1").length;
  if (firsts !== 1) wrong.push(`there are ${firsts} headings of the first rank`);
  if (all("main").length !== 1) wrong.push("there is no main part");
  let before = 0;
  for (const heading of all("h1, h2, h3, h4, h5, h6")) {
    const rank = Number(heading.localName[1]);
    if (rank > before + 1) wrong.push(`${spelled(heading)} leaves out a rank`);
    if (nameOf(heading) === "") wrong.push(`a heading of rank ${rank} is empty`);
    before = rank;
  }
  for (const field of all("input:not([type=hidden]), select, textarea"))
    if (!field.labels.length || nameOf(field) === "") wrong.push(`${spelled(field)} has no label`);
  for (const one of controls()) if (nameOf(one) === "") wrong.push(`${spelled(one)} has no name`);
  const ids = all("[id]").map((one) => one.id);
  for (const id of new Set(ids)) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push(`the id "${id}" is there twice`);
  for (const link of [location, ...all("a[href^='#']")])
    if (link.hash && !document.getElementById(link.hash.slice(1))) wrong.push(`nothing is at ${link.hash}`);
  for (const one of all("*")) {
    const attributes = [...one.attributes].map((attribute) => attribute.name);
    const runs = one.matches("script, style, iframe, frame, object, embed, base");
    if (runs || attributes.some((name) => name === "style" || name.startsWith("on"))) wrong.push(`${spelled(one)} runs`);
  }
}

function channels(color) {
  const [, numbers] = color.match(/^rgba?\(([\d., ]+)\)$/);
  const [red, green, blue, alpha = 1] = numbers.split(",").map(Number);
  return { light: [red, green, blue], alpha };
}

function background(element) {
  for (let one = element; one; one = one.parentElement) {
    const { light, alpha } = channels(getComputedStyle(one).backgroundColor);
    if (alpha === 1) return light;
    if (alpha > 0) wrong.push(`${spelled(one)} has a background that can be seen through`);
  }
  wrong.push("the page has no background");
  return [127, 127, 127];
}

// WCAG 2.2, relative luminance and contrast ratio.
function luminance(light) {
  const [red, green, blue] = light.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(color, behind) {
  const [one, other] = [channels(color).light, behind].map(luminance);
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

function checkContrast() {
  const look = (element, style, what) => {
    const ratio = contrast(style.color, background(element));
    if (ratio < 4.5 || channels(style.color).alpha < 1) wrong.push(`${what} has a contrast of ${ratio.toFixed(2)}`);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    if (text !== "" && isShown(element)) look(element, getComputedStyle(element), `"${text.slice(0, 60)}"`);
  }
  for (const field of all("input, select, textarea").filter(isShown)) look(field, getComputedStyle(field), spelled(field));
  for (const element of all("body *").filter(isShown))
    for (const side of ["::before", "::after"]) {
      const style = getComputedStyle(element, side);
      if (!["none", "normal", '""'].includes(style.content)) look(element, style, `${side} ${style.content}`);
    }
}

function checkWidth(width) {
  if (innerWidth !== width) wrong.push(`the window is ${innerWidth} wide`);
  if (root.scrollWidth > width) wrong.push(`the page is ${root.scrollWidth} wide, and so it scrolls`);
  for (const one of all("body *")) {
    const scrolls = ["auto", "scroll"].includes(getComputedStyle(one).overflowX) && one.scrollWidth > one.clientWidth;
    if (scrolls) wrong.push(`${spelled(one)} is ${one.scrollWidth} wide in ${one.clientWidth}, and so it scrolls`);
  }
}

// Whether somebody sees where the focus is.
function checkFocus(element) {
  const style = getComputedStyle(element);
  const isOutlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const isClear = isOutlined && contrast(style.outlineColor, background(element.parentElement)) >= 3;
  const { left, right, top, bottom } = element.getBoundingClientRect();
  const isInside = left + scrollX >= 0 && top + scrollY >= 0 && right > left && bottom > top && right + scrollX <= root.scrollWidth;
  if (!element.matches(":focus-visible") || !isClear || !isInside) wrong.push(`${spelled(element)} has a focus that nobody sees`);
}

function checkFocused() {
  const expected = controls();
  const { focused, unseen } = window.terse;
  for (const one of expected) if (!focused.includes(one)) wrong.push(`${spelled(one)} is not reached by Tab`);
  const reached = expected.filter((one) => focused.includes(one));
  if (focused.some((one, index) => one !== reached[index])) wrong.push("Tab goes in another order than the text");
  wrong.push(...unseen);
}

// The pages that links and forms lead to, without what forms are filled with.
function ways() {
  const found = all("a[href]").map((link) => new URL(link.href));
  for (const form of all("form[method=get]")) {
    const choices = [...form.querySelectorAll("select")].flatMap((select) => [...select.options].map((one) => [select.name, one.value]));
    for (const [name, value] of choices.length ? choices : [[]]) {
      const fields = new URLSearchParams(new FormData(form));
      if (name) fields.set(name, value);
      found.push(new URL(`${form.action}?${fields}`));
    }
  }
  return found.map((url) => (url.origin === location.origin ? url.pathname + url.search + url.hash : url.href));
}

switch (question) {
  case "structure":
    checkStructure();
    break;
  case "contrast":
    checkContrast();
    break;
  case "width":
    checkWidth(...details);
    break;
  case "watch":
    window.terse = { focused: [], unseen: wrong };
    document.addEventListener("focusin", ({ target }) => {
      window.terse.focused.push(target);
      checkFocus(target);
    });
    return controls().length;
  case "focused":
    checkFocused();
    break;
  case "focus":
    checkFocus(document.activeElement);
    break;
  case "ways":
    return ways();
  case "find": {
    const [name] = details;
    const found = controls().filter((one) => nameOf(one) === name);
    return [found[0] ?? null, controls().indexOf(found[0]), controls().indexOf(document.activeElement)];
  }
}
return wrong;
