export type Todo = { id: number; title: string; done: boolean };

export class Todos {
  private items: Todo[] = [];

  add(title: string): Todo {
    const clean = title.trim();
    if (!clean) throw new RangeError('a title is needed');
    const todo = { id: this.items.length + 1, title: clean, done: false };
    this.items.push(todo);
    return todo;
  }

  open(): Todo[] {
    return this.items.filter((item) => !item.done);
  }
}
