{{- define "podwatch.account" -}}
{{- .Values.serviceAccount.name | default (include "bigfleet.fullname" .) -}}
{{- end -}}
