// Before anything is drawn: the theme chosen last time, if one was.
try {
  const theme = localStorage.getItem("pathweave-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* no storage: the system's theme it is */ }
