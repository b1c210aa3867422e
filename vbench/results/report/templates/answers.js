// What each model was told, word for word, and what it said.

let focus = 0;

function answerParts(n, answers, strings) {
  if (!RUNS.length) return [];
  const cards = answers.map((answer, k) => answerCard(n, k, answer, strings));
  const grid = make("div", "answers", cards);
  const several = RUNS.length > 1 ? make("span", "quiet", "  ← → goes from model to model") : null;
  return [make("h3", "", "Prompts and replies", several), grid];
}

function answerCard(n, k, answer, strings) {
  const title = make("h4", "", make("span", "", make("i", `mark r${k % 10}`), told(RUNS[k])), verdict(k, n));
  const card = make("section", k === focus && RUNS.length > 1 ? "answer focus" : "answer", title);
  if (answer === null) return card;
  const status = statusOf(k, n);
  if (status !== "ok") card.append(line("status", `${status}${answer.reason ? `: ${answer.reason}` : ""}`));
  if (DATA.answers[k].truncated.includes(n)) {
    card.append(make("p", "", "A text was longer than the model reads, or a reply was cut off."));
  }
  const asked = answer.asked ?? [];
  if (!asked.length) card.append(make("p", "", "The model was given the texts as they are."));
  asked.forEach((one, i) => card.append(...exchange(one, strings, asked.length > 1 ? ` ${i + 1}` : "")));
  if (answer.response && !asked.some((one) => one.reply === answer.response)) {
    card.append(make("div", "label", "Read reply"), make("pre", "", told(answer.response)));
  }
  if (answer.rule) card.append(line("read by", answer.rule));
  for (const [name, share] of answer.observed ?? []) card.append(line(name, number(share)));
  return card;
}

function line(name, value) {
  return make("p", "", `${name}: `, told(value));
}

function exchange(one, strings, which) {
  const parts = [];
  if (one.system !== undefined) {
    parts.push(make("div", "label", `System${which}`), make("pre", "", told(strings[one.system])));
  }
  const asked = one.prompt ?? one.text;
  if (asked !== undefined) {
    const label = one.prompt === undefined ? "Text" : "Prompt";
    parts.push(make("div", "label", label + which), make("pre", "", told(strings[asked])));
  }
  if (one.reply !== undefined) parts.push(make("div", "label", `Reply${which}`), make("pre", "", told(one.reply)));
  (one.words ?? []).forEach((word, i) => {
    const value = one.log_probs?.[i];
    const share = value === null || value === undefined ? "–" : `${number(value)} (${number(Math.exp(value))})`;
    parts.push(make("p", "", "log P(", told(word), `) ${share}`));
  });
  if (one.status) parts.push(line("status", `${one.status}: ${one.reason ?? ""}`));
  if (one.tokens) {
    const [prompt, visual, reply] = one.tokens;
    const size = one.frame_shape ? `, frames ${one.frame_shape.join(" × ")}` : "";
    parts.push(make("p", "", `${prompt} tokens in, ${visual} of them video${size}; ${reply} out${one.finish ? "; " : ""}`, told(one.finish ?? "")));
  }
  return parts;
}

/** Moves the frame round a model's card. */
function turn(by) {
  const cards = [...detail.querySelectorAll(".answer")];
  if (cards.length < 2) return;
  focus = Math.min(cards.length - 1, Math.max(0, focus + by));
  cards.forEach((card, k) => card.classList.toggle("focus", k === focus));
  cards[focus].scrollIntoView({ block: "nearest", inline: "nearest" });
}
