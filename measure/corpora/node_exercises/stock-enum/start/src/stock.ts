export enum State {
  Free = "free",
  Reserved = "reserved",
}

interface Place {
  name: string;
  state: State;
}

export class Stock {
  private readonly places: Place[];

  constructor(names: readonly string[]) {
    this.places = names.map((name) => ({ name, state: State.Free }));
  }

  count(state: State): number {
    return this.places.filter((one) => one.state === state).length;
  }

  reserve(amount: number): string[] {
    const free = this.places.slice(0, amount);
    if (free.length < amount) {
      return [];
    }
    free.forEach((one) => {
      one.state = State.Reserved;
    });
    return free.map((one) => one.name);
  }
}
