// The part of anywidget's model that a view may use, without a kernel. The Python side is harness.py.
const listeners = new Map(); // event name -> Set of callbacks
const traits = {};
let unsaved = {};

window.sent = []; // custom messages of the view
window.saved = []; // what each save_changes() carried
window.mounted = false;
window.failed = null;

function emit(event, ...args) {
  for (const callback of [...(listeners.get(event) ?? [])]) callback(...args);
}

export const model = {
  get: (name) => traits[name],
  set(name, value) {
    const values = typeof name === "string" ? { [name]: value } : name;
    Object.assign(unsaved, values);
    window.change(values);
  },
  save_changes() {
    window.saved.push(unsaved);
    unsaved = {};
  },
  on(event, callback) {
    for (const name of event.split(" ")) listeners.set(name, (listeners.get(name) ?? new Set()).add(callback));
  },
  off(event, callback) {
    if (event == null) return listeners.clear();
    for (const name of event.split(" ")) {
      if (callback == null) listeners.delete(name);
      else listeners.get(name)?.delete(callback);
    }
  },
  send: (content) => window.sent.push(structuredClone(content)),
  widget_manager: {},
};
window.model = model;

window.change = (values) => {
  const changed = Object.entries(values).filter(([name, value]) => traits[name] !== value);
  Object.assign(traits, values);
  for (const [name, value] of changed) emit(`change:${name}`, model, value);
  if (changed.length > 0) emit("change", model);
};

window.deliver = (message, buffers = []) => {
  const bytes = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  emit("msg:custom", message, buffers.map((text) => new DataView(bytes(text).buffer)));
};

window.theme = (name) => {
  document.getElementById("theme").href = `/theme-${name}.css`;
  document.body.dataset.jpThemeLight = String(name === "light");
};

/** Does what anywidget does with a module: initialize, then render, each with an AbortSignal and a clean-up. */
export async function mount(module, el, state) {
  const end = new AbortController();
  const cleanups = [];
  window.unmount = async () => {
    end.abort();
    for (const cleanup of cleanups.reverse()) await cleanup?.();
  };
  try {
    Object.assign(traits, state);
    const view = typeof module === "function" ? await module() : module;
    const experimental = { invoke: () => Promise.reject(new Error("invoke is not faked")) };
    cleanups.push(await view.initialize?.({ model, experimental, signal: end.signal }));
    cleanups.push(await view.render?.({ model, el, experimental, signal: end.signal }));
    window.mounted = true;
  } catch (error) {
    window.failed = String(error?.stack ?? error);
    throw error;
  }
}
