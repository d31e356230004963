import DOMPurify from 'dompurify';

export function show(element: HTMLElement, html: string): void {
  element.innerHTML = DOMPurify.sanitize(html);
}
