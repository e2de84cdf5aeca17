// Loaded before the first paint, so that a person who chose a theme does not see the other one for a moment.
const chosen = localStorage.getItem('theme');
if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['theme'] = chosen;
