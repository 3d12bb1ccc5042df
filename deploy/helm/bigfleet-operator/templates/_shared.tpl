{{/*
What every chart of BigFleet renders alike. The three charts hold the same text (a test compares
them), so that each is installed from its own folder, without a dependency to fetch.
*/}}

{{- define "bigfleet.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* dict "root" $ "component" "shard" */}}
{{- define "bigfleet.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* dict "root" $ "component" "shard" */}}
{{- define "bigfleet.labels" -}}
{{ include "bigfleet.selector" . }}
app.kubernetes.io/part-of: bigfleet
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "bigfleet.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* One account per component that needs rights of its own. dict "root" $ "component" "shard" */}}
{{- define "bigfleet.account" -}}
{{- .root.Values.serviceAccount.name | default (printf "%s-%s" (include "bigfleet.fullname" .root) .component) -}}
{{- end -}}

{{- define "bigfleet.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "bigfleet.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
privileged: false
capabilities: {drop: [ALL]}
{{- end -}}

{{/*
Kernels may have to be compiled at the first start, and a List of a large provider takes its time:
a process has five minutes to come up before it counts as hanging. "." is nothing but the context.
*/}}
{{- define "bigfleet.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 5
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: metrics}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end -}}

{{/* Where pods may run. dict "root" $ "component" "shard" "placement" <values of the component> */}}
{{- define "bigfleet.placement" -}}
{{- with .placement.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .placement.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .placement.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .placement.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
{{- if .placement.topologySpreadConstraints }}
{{- toYaml .placement.topologySpreadConstraints | nindent 2 }}
{{- else }}
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "bigfleet.selector" . | nindent 8 }}
{{- end }}
{{- end -}}

{{- define "bigfleet.dnsEgress" -}}
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
{{- end -}}

{{/* dict "root" $ "component" "shard": scrapes the Service of that component */}}
{{- define "bigfleet.serviceMonitor" -}}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ include "bigfleet.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "bigfleet.labels" . | nindent 4 }}
    {{- with .root.Values.metrics.serviceMonitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels: {{- include "bigfleet.selector" . | nindent 6 }}
  namespaceSelector:
    matchNames: [{{ .root.Release.Namespace }}]
  endpoints:
    - port: metrics
      interval: {{ .root.Values.metrics.serviceMonitor.interval }}
{{- end -}}

{{/*
The alerts of this chart, unchanged: their own braces belong to Prometheus.
dict "root" $ "without" (list "coordinator.yaml")
*/}}
{{- define "bigfleet.rules" -}}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: {{ include "bigfleet.fullname" .root }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "bigfleet.labels" (dict "root" .root "component" "alerts") | nindent 4 }}
    {{- with .root.Values.metrics.rules.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  groups:
    {{- range $path, $_ := .root.Files.Glob "alerts/*.yaml" }}
    {{- if not (has (base $path) $.without) }}
    {{- $.root.Files.Get $path | nindent 4 }}
    {{- end }}
    {{- end }}
{{- end -}}

{{/* Dashboards, for Grafana's sidecar to find. */}}
{{- define "bigfleet.dashboards" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "bigfleet.fullname" . }}-dashboards
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "bigfleet.labels" (dict "root" . "component" "dashboards") | nindent 4 }}
    {{- toYaml .Values.metrics.dashboards.labels | nindent 4 }}
  {{- with .Values.metrics.dashboards.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
data:
  {{- range $path, $_ := .Files.Glob "dashboards/*.json" }}
  {{ base $path }}: |
    {{- $.Files.Get $path | nindent 4 }}
  {{- end }}
{{- end -}}
