// Drawer, dialog and the one tooltip. Dialogs are the browser's own: they trap and return focus.
import { type ReactNode, useEffect, useId, useRef } from "react";
import { IconButton } from "./basics";

interface Overlay {
  title: string;
  onClose: () => void;
  children: ReactNode;
  actions?: ReactNode;
}

function useModal(onClose: () => void) {
  const box = useRef<HTMLDialogElement>(null);
  const close = useRef(onClose);
  close.current = onClose;
  useEffect(() => {
    const dialog = box.current;
    if (!dialog) return;
    const before = document.activeElement;
    if (!dialog.open) dialog.showModal();
    dialog.querySelector<HTMLElement>("[data-autofocus]")?.focus();
    const closed = (): void => close.current();
    dialog.addEventListener("close", closed);
    return () => {
      dialog.removeEventListener("close", closed);
      dialog.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  return box;
}

function Modal({ title, onClose, children, actions, className }: Overlay & { className: string }) {
  const box = useModal(onClose);
  const id = useId();
  return (
    <dialog
      ref={box}
      className={className}
      aria-labelledby={id}
      onPointerDown={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <div className="overlay">
        <header className="overlay-head">
          <h2 id={id}>{title}</h2>
          <div className="card-actions">
            {actions}
            <IconButton icon="close" label="Close (Esc)" onClick={onClose} />
          </div>
        </header>
        <div className="overlay-body">{children}</div>
      </div>
    </dialog>
  );
}

/** Details beside the page: traps focus, Escape closes it, focus returns to where it was. */
export const Drawer = (props: Overlay) => <Modal {...props} className="drawer" />;
export const Dialog = (props: Overlay) => <Modal {...props} className="dialog" />;

/**
 * The tooltip: any element with a data-tip attribute has one, on hover and on focus.
 * One element for the whole page, so that tables of thousands of rows stay light.
 */
export function TooltipLayer() {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let target: HTMLElement | null = null;
    const layer = box.current;
    if (!layer) return;
    const hide = (): void => {
      if (target?.getAttribute("aria-describedby") === "tooltip") target.removeAttribute("aria-describedby");
      target = null;
      if (layer.matches(":popover-open")) layer.hidePopover();
    };
    const show = (event: Event): void => {
      const found = (event.target as Element).closest?.<HTMLElement>("[data-tip]") ?? null;
      if (found === target) return;
      hide();
      // A click focuses too; who clicked has read it.
      if (event.type === "focusin" && !found?.matches(":focus-visible")) return;
      const text = found?.dataset.tip;
      if (!found || !text) return;
      target = found;
      layer.textContent = text;
      if (!found.hasAttribute("aria-describedby")) found.setAttribute("aria-describedby", "tooltip");
      // The browser's top layer: also above dialogs.
      layer.showPopover();
      const at = found.getBoundingClientRect();
      const own = layer.getBoundingClientRect();
      const above = at.top > own.height + 12;
      layer.style.left = `${Math.max(6, Math.min(window.innerWidth - own.width - 6, at.left + at.width / 2 - own.width / 2))}px`;
      layer.style.top = `${above ? at.top - own.height - 6 : at.bottom + 6}px`;
    };
    const escape = (event: KeyboardEvent): void => {
      if (event.key === "Escape") hide();
    };
    document.addEventListener("pointerover", show);
    document.addEventListener("focusin", show);
    document.addEventListener("focusout", hide);
    document.addEventListener("pointerdown", hide);
    document.addEventListener("keydown", escape);
    document.addEventListener("scroll", hide, true);
    return () => {
      document.removeEventListener("pointerover", show);
      document.removeEventListener("focusin", show);
      document.removeEventListener("focusout", hide);
      document.removeEventListener("pointerdown", hide);
      document.removeEventListener("keydown", escape);
      document.removeEventListener("scroll", hide, true);
    };
  }, []);
  return <div ref={box} id="tooltip" className="tooltip" role="tooltip" popover="manual" />;
}
