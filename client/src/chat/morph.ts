/** Makes one tree look like another by changing only what differs, so that selection and focus stay. */

export function morphChildren(target: Node, source: Node): void {
  const wanted = [...source.childNodes];
  wanted.forEach((node, i) => {
    const present = target.childNodes[i];
    if (present === undefined) target.appendChild(node);
    else if (present.nodeType !== node.nodeType || present.nodeName !== node.nodeName) {
      target.replaceChild(node, present);
    } else morphNode(present, node);
  });
  while (target.childNodes.length > wanted.length) target.lastChild?.remove();
}

function morphNode(present: Node, wanted: Node): void {
  if (present instanceof Element && wanted instanceof Element) {
    morphAttributes(present, wanted);
    morphChildren(present, wanted);
  } else if (present.nodeValue !== wanted.nodeValue) present.nodeValue = wanted.nodeValue;
}

function morphAttributes(present: Element, wanted: Element): void {
  for (const { name } of [...present.attributes]) {
    if (!wanted.hasAttribute(name)) present.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (present.getAttribute(name) !== value) present.setAttribute(name, value);
  }
}
