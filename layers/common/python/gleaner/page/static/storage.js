/** What the browser keeps. Where it may keep nothing, or has no room, it is known until the page is left. */
class Area {
  constructor(name) {
    this.memory = new Map();
    try {
      this.area = window[name];
    } catch {
      this.area = null; // the reader forbids it
    }
  }

  read(key) {
    return this.memory.get(key) ?? this.area?.getItem(key);
  }

  write(key, value) {
    this.memory.set(key, value);
    try {
      this.area.setItem(key, value);
    } catch {
      // There is no area, or it is full.
    }
  }

  remove(key) {
    this.memory.delete(key);
    this.area?.removeItem(key);
  }
}

export const browser = new Area("localStorage");
export const tab = new Area("sessionStorage");
