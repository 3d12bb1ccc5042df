import { createRoot } from "react-dom/client";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/components.css";
import { App } from "./app";
import { startKeys } from "./core/keys";
import { startLive } from "./core/live";
import { startTheme } from "./core/palette";

startTheme();
startKeys();
startLive();
const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);
